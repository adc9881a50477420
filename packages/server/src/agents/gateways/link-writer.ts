/**
 * Stores what the connections of a tenant's gateways report, in batches: a thousand heartbeats cost a few statements.
 */
import type { GatewayStatus } from "@gatehouse/contract/records/gateway";
import {
  type GatewayReport,
  nextStatus,
  type RefusedKey,
  storeGatewayReports,
  storeRefusedKeys,
} from "../../features/gateways/gateways.api.ts";
import type { Clock } from "../../platform/clock.ts";
import type { CommandRunner } from "../../platform/command.ts";
import { Batcher } from "../../platform/concurrency/batcher.ts";
import { CoalescedTask } from "../../platform/concurrency/coalesced-task.ts";
import type { Log } from "../../platform/log.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./link-state.queries.ts";

/** State that a request may wait for is stored after this long, in milliseconds. */
const urgentMs = 15;
/** Heartbeats are stored after this long, in milliseconds. */
const heartbeatMs = 3_000;
const retryMs = 1_000;
/** How often the same refusal of a gateway's key is recorded at most, in milliseconds. */
const refusalIntervalMs = 3_600_000;

export interface LinkWriterOptions {
  readonly tenantId: string;
  readonly replicaId: string;
  readonly runner: CommandRunner;
  readonly clock: Clock;
  readonly log: Log;
  /** The connection is not the current one of its gateway any more: another replica has a later one. */
  readonly superseded: (gatewayId: string, connectionId: string) => void;
}

interface Claim extends queries.LinkClaim {
  readonly done: (tokenEndsAt: number | undefined) => void;
  readonly failed: (error: unknown) => void;
}

export class LinkWriter {
  readonly #options: LinkWriterOptions;
  #claims: Claim[] = [];
  /** The changes by connection. */
  readonly #changes = new Batcher<string, queries.ConnectionChange>((earlier, later) => ({ ...earlier, ...later }));
  readonly #generation = new Batcher<"generation", number | "none">();
  readonly #reports = new Batcher<string, GatewayReport>(mergeReports);
  readonly #refusals = new Batcher<string, RefusedKey>();
  /** The last refusal of each gateway that is in the audit record, with its time by `clock.elapsedMs()`. */
  readonly #refused = new Map<string, number>();
  readonly #heard = new Batcher<string, string>();
  readonly #handshakes = new Batcher<string, queries.Handshake>((earlier, later) =>
    earlier.at <= later.at ? later : earlier,
  );
  /** The records of gateways, as far as this replica has read them. */
  readonly #records = new Map<string, queries.ReportedGateway>();
  readonly #urgent: CoalescedTask;
  readonly #heartbeats: CoalescedTask;

  constructor(options: LinkWriterOptions) {
    this.#options = options;
    const { log, tenantId } = options;
    const failed = (error: unknown) => log.warn({ err: error, tenantId }, "failed to store link state; will retry");
    this.#urgent = new CoalescedTask({ run: () => this.#storeUrgent(), delayMs: urgentMs, retryMs, failed });
    this.#heartbeats = new CoalescedTask({
      run: () => this.#storeHeartbeats(),
      delayMs: heartbeatMs,
      retryMs,
      failed,
    });
  }

  /**
   * Makes a connection the current one of its gateway, unless its token was revoked.
   *
   * @returns when the token expires, in milliseconds since 1970; 0 if it was revoked; undefined if the gateway was
   *   deleted
   * @throws AppError database_unavailable
   */
  claim(claim: queries.LinkClaim): Promise<number | undefined> {
    return new Promise((done, failed) => {
      this.#claims.push({ ...claim, done, failed });
      this.#urgent.request();
    });
  }

  /** @param isUrgent whether a request may wait for the change */
  change(change: queries.ConnectionChange, isUrgent: boolean): void {
    this.#changes.add(change.connection_id, change);
    if (isUrgent) this.#urgent.request();
    else this.#heartbeats.request();
  }

  /** @param generation the one that this replica's gateways were offered; "none" if none of them is connected here */
  setGeneration(generation: number | "none"): void {
    this.#generation.add("generation", generation);
    this.#urgent.request();
  }

  heard(gatewayId: string, at: Date): void {
    this.#heard.add(gatewayId, at.toISOString());
    this.#heartbeats.request();
  }

  handshake(device: queries.Handshake): void {
    this.#handshakes.add(device.device_id, device);
    this.#heartbeats.request();
  }

  /** Reports something that may change the gateway's record. */
  report(report: GatewayReport): void {
    this.#reports.add(report.gatewayId, report);
    this.#urgent.request();
  }

  /** Reports that an agent was refused because of its key. */
  refuse(refusal: RefusedKey): void {
    this.#refusals.add(refusal.gatewayId, refusal);
    this.#urgent.request();
  }

  /**
   * Whether the result of applying a configuration changes the gateway's record.
   *
   * @param error `""` if it was applied
   */
  changesRecord(gatewayId: string, error: string): boolean {
    const record = this.#records.get(gatewayId);
    return record === undefined || record.error !== error || (error === "" && record.deployed_on === null);
  }

  forget(gatewayId: string): void {
    this.#refused.delete(gatewayId);
    this.#records.delete(gatewayId);
  }

  /** Stores everything that is pending. @throws AppError database_unavailable; a retry follows */
  async flush(): Promise<void> {
    await this.#heartbeats.flush();
    await this.#urgent.flush();
  }

  async stop(): Promise<void> {
    await this.flush().catch(() => undefined);
    await Promise.all([this.#urgent.stop(), this.#heartbeats.stop()]);
  }

  async #storeUrgent(): Promise<void> {
    const claims = this.#claims;
    this.#claims = [];
    try {
      await this.#generation.drain((generations) =>
        this.#changes.drain((changes) =>
          this.#storeState(claims, [...changes.values()], generations.get("generation")),
        ),
      );
    } catch (error) {
      for (const { failed } of claims) failed(error);
      throw error;
    }
    if (this.#refusals.size > 0) await this.#refusals.drain((refusals) => this.#storeRefusals([...refusals.values()]));
    if (this.#reports.size > 0) await this.#reports.drain((reports) => this.#storeReports([...reports.values()]));
  }

  async #storeState(
    claims: readonly Claim[],
    changes: readonly queries.ConnectionChange[],
    generation: number | "none" | undefined,
  ): Promise<void> {
    const { replicaId, runner, clock, superseded } = this.#options;
    if (claims.length === 0 && changes.length === 0 && generation === undefined) return;
    const now = clock.now();
    const heardAt = runner.sharedTime.now();
    const claimed = claims.map(({ done: _done, failed: _failed, ...claim }) => claim);
    const [tokens, stored] = await this.#transaction((tx) =>
      Promise.all([
        claimed.length === 0 ? new Map<string, number>() : queries.claimLinks(tx, claimed, now, heardAt),
        changes.length === 0 ? new Set<string>() : queries.storeConnectionChanges(tx, changes),
        generation === undefined
          ? undefined
          : generation === "none"
            ? queries.forgetReplicaGeneration(tx, replicaId)
            : queries.storeReplicaGeneration(tx, replicaId, generation, heardAt),
      ]),
    );
    for (const { connection_id: id, done } of claims) done(tokens.get(id));
    const isClaimed = ({ connection_id: id }: Claim) => (tokens.get(id) ?? 0) > now.getTime();
    const replaced = new Set(claims.filter(isClaimed).map(({ gateway_id: id }) => id));
    for (const { gateway_id: id, connection_id: connectionId } of changes) {
      // The claiming connection ends the former one.
      if (!stored.has(id) && !replaced.has(id)) superseded(id, connectionId);
    }
  }

  /** Stores each refusal once an hour, so that an agent that returns again and again does not fill the audit record. */
  async #storeRefusals(refusals: readonly RefusedKey[]): Promise<void> {
    const { runner, tenantId, clock } = this.#options;
    const now = clock.elapsedMs();
    // The key does not matter here: an agent can make any number of keys.
    const isNew = ({ gatewayId }: RefusedKey) => {
      const last = this.#refused.get(gatewayId);
      return last === undefined || now - last > refusalIntervalMs;
    };
    const inError = new Set(await storeRefusedKeys(runner, tenantId, refusals, isNew, clock.now()));
    for (const refusal of refusals) {
      const { gatewayId, error, heardAt } = refusal;
      if (!inError.has(gatewayId)) {
        if (isNew(refusal)) this.#refused.set(gatewayId, now);
        continue;
      }
      this.heard(gatewayId, heardAt);
      if (this.changesRecord(gatewayId, error)) this.report({ gatewayId, error, heardAt });
    }
  }

  async #storeReports(reports: readonly GatewayReport[]): Promise<void> {
    const { runner, tenantId, clock } = this.#options;
    await storeGatewayReports(runner, tenantId, reports, clock.now());
    for (const { gatewayId, appliedAt, error } of reports) {
      const record = this.#records.get(gatewayId);
      if (record === undefined) continue;
      this.#records.set(gatewayId, {
        ...record,
        error: appliedAt === undefined ? (error ?? record.error) : "",
        deployed_on: record.deployed_on ?? appliedAt?.toISOString() ?? null,
      });
    }
  }

  async #storeHeartbeats(): Promise<void> {
    await this.#handshakes.drain((handshakes) =>
      this.#heard.drain(async (heard) => {
        if (heard.size > 0) await this.#storeHeard(heard);
        if (handshakes.size > 0) await this.#storeHandshakes([...handshakes.values()]);
      }),
    );
    if (this.#changes.size + this.#reports.size > 0) this.#urgent.request();
  }

  async #storeHeard(heard: ReadonlyMap<string, string>): Promise<void> {
    const { sharedTime } = this.#options.runner;
    const gateways = Array.from(heard, ([id, at]) => ({ id, at }));
    const now = sharedTime.now();
    for (const row of await this.#transaction((tx) => queries.touchHeardGateways(tx, gateways, now))) {
      this.#records.set(row.id, row);
      const status = row.status as GatewayStatus; // the column is constrained to these values
      if (nextStatus({ ...row, status }, sharedTime.now()) === status) continue;
      this.report({ gatewayId: row.id, heardAt: new Date(heard.get(row.id) ?? 0) });
    }
  }

  async #storeHandshakes(devices: readonly queries.Handshake[]): Promise<void> {
    await this.#transaction((tx) => queries.storeHandshakes(tx, devices));
    const users = await this.#transaction((tx) => queries.touchConnectedDevices(tx, devices));
    if (users.size > 0) await this.#transaction((tx) => queries.touchConnectedUsers(tx, users));
  }

  #transaction<T>(work: (tx: TenantTx) => Promise<T>): Promise<T> {
    const { runner, tenantId } = this.#options;
    return runner.database.transaction({ kind: "tenant", tenantId }, ({ query }) => work({ tenantId, query }));
  }
}

/** The later result of applying a configuration replaces the earlier one; everything else is combined. */
function mergeReports(earlier: GatewayReport, later: GatewayReport): GatewayReport {
  const hasResult = later.appliedAt !== undefined || later.error !== undefined;
  const { appliedAt, error, ...rest } = earlier;
  // A failure does not change that an earlier configuration was applied.
  const keepsApplied = appliedAt !== undefined && (!hasResult || later.error !== undefined);
  return {
    ...rest,
    ...(keepsApplied ? { appliedAt } : {}),
    ...(hasResult || error === undefined ? {} : { error }),
    ...later,
  };
}
