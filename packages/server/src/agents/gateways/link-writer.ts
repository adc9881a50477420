/** Writes down what a tenant's links bring, gathered: a thousand heartbeats are a few statements. */

import type { GatewayStatus } from "@gatehouse/contract/records/gateway";
import { type GatewayReport, nextStatus, storeGatewayReports } from "../../features/gateways/gateways.api.ts";
import type { Clock } from "../../platform/clock.ts";
import type { CommandRunner } from "../../platform/command.ts";
import type { Log } from "../../platform/log.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { Gathering } from "../channel/gathering.ts";
import * as queries from "./link-state.queries.ts";

/** What changes what somebody may be waiting for is written after this long, in milliseconds. */
const gatherMs = 15;
/** And heartbeats after this long. */
const heartbeatGatherMs = 3_000;

export interface LinkWriterOptions {
  readonly tenantId: string;
  readonly replicaId: string;
  readonly runner: CommandRunner;
  readonly clock: Clock;
  readonly log: Log;
  /** Another connection is its gateway's present one: somewhere else. */
  readonly superseded: (gatewayId: string, connectionId: string) => void;
}

interface PendingClaim extends queries.LinkClaim {
  readonly done: (isThere: boolean) => void;
  readonly failed: (error: unknown) => void;
}

export class LinkWriter {
  readonly #options: LinkWriterOptions;
  #claims: PendingClaim[] = [];
  #news = new Map<string, queries.LinkNews>();
  #generation: number | "none" | undefined;
  #heard = new Map<string, string>();
  #met = new Map<string, queries.MetDevice>();
  #reports = new Map<string, GatewayReport>();
  /** As the records are, as far as is known. */
  readonly #known = new Map<string, queries.ReportedGateway>();
  readonly #soon: Gathering;
  readonly #later: Gathering;

  constructor(options: LinkWriterOptions) {
    this.#options = options;
    const failed = (error: unknown) =>
      options.log.warn(
        { err: error, tenantId: options.tenantId },
        "the state of gateway links could not be written; it is tried again",
      );
    this.#soon = new Gathering(gatherMs, () => this.#writeNews(), failed);
    this.#later = new Gathering(heartbeatGatherMs, () => this.#writeHeard(), failed);
  }

  /**
   * Makes a connection its gateway's present one.
   *
   * @returns false once the gateway is deleted
   */
  claim(claim: queries.LinkClaim): Promise<boolean> {
    this.#news.delete(claim.gateway_id);
    return new Promise((done, failed) => {
      this.#claims.push({ ...claim, done, failed });
      this.#soon.wake();
    });
  }

  /** @param isUrgent whether somebody may be waiting for it */
  note(news: queries.LinkNews, isUrgent: boolean): void {
    const before = this.#news.get(news.gateway_id);
    this.#news.set(news.gateway_id, before?.connection_id === news.connection_id ? { ...before, ...news } : news);
    if (isUrgent) this.#soon.wake();
    else this.#later.wake();
  }

  /** Up to which generation this replica's gateways were told what is wanted; "none" when it has none of the tenant any more. */
  noteGeneration(generation: number | "none"): void {
    this.#generation = generation;
    this.#soon.wake();
  }

  heard(gatewayId: string, at: Date): void {
    this.#heard.set(gatewayId, at.toISOString());
    this.#later.wake();
  }

  met(device: queries.MetDevice): void {
    const before = this.#met.get(device.device_id);
    if (before === undefined || before.at <= device.at) this.#met.set(device.device_id, device);
    this.#later.wake();
  }

  /** What the gateway's record shows may change by this. */
  report(report: GatewayReport): void {
    this.#reports.set(report.gatewayId, merged(this.#reports.get(report.gatewayId), report));
    this.#soon.wake();
  }

  /** Whether a configuration that was applied changes what the gateway's record shows. */
  isNewsOf(gatewayId: string, error: string): boolean {
    const known = this.#known.get(gatewayId);
    return known === undefined || known.error !== error || (error === "" && known.deployed_on === null);
  }

  forget(gatewayId: string): void {
    this.#known.delete(gatewayId);
  }

  /** Writes all that is pending. */
  async flush(): Promise<void> {
    await this.#later.now();
    await this.#soon.now();
  }

  async stop(): Promise<void> {
    await this.flush().catch(() => undefined);
    this.#soon.stop();
    this.#later.stop();
  }

  async #writeNews(): Promise<void> {
    const { replicaId, clock } = this.#options;
    const claims = this.#claims;
    const news = this.#news;
    const generation = this.#generation;
    this.#claims = [];
    this.#news = new Map();
    this.#generation = undefined;
    try {
      // Of several connections of one gateway, the last one.
      const last = new Map(
        claims.map(({ gateway_id, connection_id, replica_id }) => [
          gateway_id,
          { gateway_id, connection_id, replica_id },
        ]),
      );
      const [known, stored] = await this.#transaction((tx) =>
        Promise.all([
          last.size === 0 ? new Set<string>() : queries.claimLinks(tx, [...last.values()], clock.now()),
          news.size === 0 ? new Set<string>() : queries.storeLinkNews(tx, [...news.values()]),
          generation === undefined
            ? undefined
            : generation === "none"
              ? queries.forgetReplicaGeneration(tx, replicaId)
              : queries.storeReplicaGeneration(tx, replicaId, generation, clock.now()),
        ]),
      );
      for (const { gateway_id: id, done } of claims) done(known.has(id));
      for (const { gateway_id: id, connection_id: connection } of news.values()) {
        if (!stored.has(id)) this.#options.superseded(id, connection);
      }
    } catch (error) {
      for (const { failed } of claims) failed(error);
      for (const [id, item] of news) {
        const later = this.#news.get(id);
        if (later === undefined) this.#news.set(id, item);
        else if (later.connection_id === item.connection_id) this.#news.set(id, { ...item, ...later });
      }
      this.#generation ??= generation;
      throw error;
    }
    await this.#writeReports();
  }

  async #writeReports(): Promise<void> {
    const { runner, tenantId, clock } = this.#options;
    const reports = this.#reports;
    if (reports.size === 0) return;
    this.#reports = new Map();
    try {
      await storeGatewayReports(runner, tenantId, [...reports.values()], clock.now());
      for (const { gatewayId, appliedAt, error } of reports.values()) {
        const known = this.#known.get(gatewayId);
        if (known === undefined) continue;
        const deployed = known.deployed_on ?? appliedAt?.toISOString() ?? null;
        this.#known.set(gatewayId, {
          ...known,
          error: appliedAt === undefined ? (error ?? known.error) : "",
          deployed_on: deployed,
        });
      }
    } catch (error) {
      for (const [id, report] of reports) this.#reports.set(id, merged(report, this.#reports.get(id) ?? report));
      throw error;
    }
  }

  async #writeHeard(): Promise<void> {
    const { clock } = this.#options;
    const heard = this.#heard;
    const met = this.#met;
    this.#heard = new Map();
    this.#met = new Map();
    try {
      if (heard.size > 0) {
        const rows = await this.#transaction((tx) =>
          queries.touchHeardGateways(
            tx,
            Array.from(heard, ([id, at]) => ({ id, at })),
          ),
        );
        for (const row of rows) {
          this.#known.set(row.id, row);
          const status = row.status as GatewayStatus; // one of them, as the column is constrained
          if (nextStatus({ ...row, status }, clock.now()) !== status) {
            this.report({ gatewayId: row.id, heardAt: new Date(heard.get(row.id) ?? 0) });
          }
        }
      }
      if (met.size > 0) {
        const devices = [...met.values()];
        await this.#transaction((tx) => queries.storeMetDevices(tx, devices));
        const users = await this.#transaction((tx) => queries.touchMetDevices(tx, devices));
        if (users.size > 0) await this.#transaction((tx) => queries.touchMetUsers(tx, users));
      }
    } catch (error) {
      for (const [id, at] of heard) if (!this.#heard.has(id)) this.#heard.set(id, at);
      for (const [id, device] of met) if (!this.#met.has(id)) this.#met.set(id, device);
      throw error;
    }
    if (this.#news.size + this.#reports.size > 0) this.#soon.wake();
  }

  #transaction<T>(work: (tx: TenantTx) => Promise<T>): Promise<T> {
    const { runner, tenantId } = this.#options;
    return runner.database.transaction({ kind: "tenant", tenantId }, ({ query }) => work({ tenantId, query }));
  }
}

/** A later report over an earlier one: what it says of a configuration takes the place of all that was said of configurations. */
function merged(before: GatewayReport | undefined, after: GatewayReport): GatewayReport {
  if (before === undefined) return after;
  const isVerdict = after.appliedAt !== undefined || after.error !== undefined;
  const { appliedAt, error, ...rest } = before;
  const verdict = {
    ...(appliedAt === undefined ? {} : { appliedAt }),
    ...(error === undefined ? {} : { error }),
  };
  // A failure after a first application leaves that it was applied once.
  const kept = isVerdict ? (after.error !== undefined && appliedAt !== undefined ? { appliedAt } : {}) : verdict;
  return { ...rest, ...kept, ...after };
}
