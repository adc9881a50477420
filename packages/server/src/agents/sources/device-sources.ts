/**
 * The source addresses of devices, as each gateway reports them and as devices' own connections show them. They are
 * stored in batches, and every replica notifies its followers of changes. The database decides which observation of an
 * observer is the latest, so all replicas come to the same result. Addresses are never logged.
 */
import type { ObservedSource } from "@gatehouse/policy/enforcement/device-sources";
import { isOutage } from "../../platform/background-failures.ts";
import type { Clock } from "../../platform/clock.ts";
import { CoalescedTask } from "../../platform/concurrency/coalesced-task.ts";
import { TenantBatches } from "../../platform/concurrency/tenant-batches.ts";
import type { Database } from "../../platform/db/database.ts";
import { groupBy } from "../../platform/group-by.ts";
import { nilId } from "../../platform/ids.ts";
import type { Log } from "../../platform/log.ts";
import { isInFuture } from "../../platform/stored-times.ts";
import * as queries from "./device-sources.queries.ts";

/** Observations within this time are stored together, in milliseconds. */
const batchMs = 100;
const retryMs = 1_000;
/**
 * The most observations that one statement writes or reads. The rows of a statement are read and used in one turn of
 * the event loop.
 */
const batchSize = 500;
/**
 * A change may be committed this long after its time, in milliseconds: longer than any statement runs. The periods of
 * two polls overlap by this much.
 */
const overlapMs = 20_000;

export interface MovedDevice {
  readonly deviceId: string;
  /** The gateway that observed the address; null for the control plane. */
  readonly gatewayId: string | null;
  readonly source: ObservedSource;
}

/** Uses the source addresses of some tenants' devices. It may be notified of an address that it already has. */
export interface SourceFollower {
  readonly tenantIds: Iterable<string>;
  moved(tenantId: string, devices: readonly MovedDevice[]): void;
}

export interface DeviceSourcesOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

export class DeviceSources {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #followers: SourceFollower[] = [];
  /** The latest observation of each device by each observer. */
  readonly #observed: TenantBatches<string, queries.SeenSource>;
  readonly #storing: CoalescedTask;
  /** The database's time up to which followers were notified; undefined before the first poll. */
  #since: string | undefined;

  constructor({ database, clock, log }: DeviceSourcesOptions) {
    this.#database = database;
    this.#clock = clock;
    const failed = "failed to store device source addresses; will retry";
    this.#observed = new TenantBatches({
      log,
      failed,
      lost: "failed to store device source addresses before shutdown",
      write: (tenantId, observations, waitMs) => this.#store(tenantId, [...observations.values()], waitMs),
      merge: (one, other) => this.#laterOf(one, other),
    });
    this.#storing = new CoalescedTask({
      run: () => this.#runRound(),
      delayMs: batchMs,
      // Failing tenants are retried only by a run.
      intervalMs: retryMs,
      retryMs,
      failed: (error) => log.warn({ err: error }, failed),
    });
    this.#storing.start();
  }

  follow(follower: SourceFollower): void {
    this.#followers.push(follower);
  }

  /**
   * @param gatewayId the gateway that observed the address; null for the control plane
   * @param address in canonical form
   */
  observe(tenantId: string, deviceId: string, gatewayId: string | null, address: string, at: Date): void {
    const seen = { device_id: deviceId, gateway_id: gatewayId, source_address: address, seen_at: at.toISOString() };
    this.#observed.add(tenantId, `${deviceId} ${gatewayId ?? ""}`, seen);
    this.#storing.request();
  }

  /** Stores pending observations, except for those of busy tenants. @throws an outage of the database */
  flush(): Promise<void> {
    return this.#storing.flush();
  }

  /**
   * Notifies the followers of the changes of any replica since the last poll. Called about once a second.
   *
   * @throws AppError database_unavailable; the next poll covers the same period
   */
  async poll(): Promise<void> {
    const tenantIds = [...new Set(this.#followers.flatMap((follower) => [...follower.tenantIds]))];
    // A follower reads all addresses of a tenant when it begins to use them.
    if (tenantIds.length === 0) {
      this.#since = undefined;
      return;
    }
    const now = await this.#database.snapshot({ kind: "operator" }, queries.databaseTime);
    const startedAt = new Date(Date.parse(now) - overlapMs).toISOString();
    const from = { changed_at: this.#since ?? startedAt, tenant_id: nilId, device_id: nilId };
    await this.#notifyFrom(tenantIds, { ...from, gateway_id: null });
    await this.#notifyFrom(tenantIds, { ...from, gateway_id: nilId });
    this.#since = startedAt;
  }

  async stop(): Promise<void> {
    await this.#storing.stop();
    await this.#observed.finish();
  }

  /** @throws an outage of the database; other errors affect one tenant, and must not delay the next round */
  async #runRound(): Promise<void> {
    try {
      await this.#observed.flush();
    } catch (error) {
      if (isOutage(error)) throw error;
    }
  }

  async #notifyFrom(tenantIds: readonly string[], from: queries.SourceCursor): Promise<void> {
    let after = from;
    for (;;) {
      const cursor = after;
      const rows = await this.#database.snapshot({ kind: "operator" }, (tx) =>
        queries.changedSources(tx, tenantIds, cursor, batchSize),
      );
      this.#notify(rows);
      const last = rows.at(-1);
      if (last === undefined || rows.length < batchSize) return;
      after = last;
    }
  }

  async #store(tenantId: string, observations: readonly queries.SeenSource[], waitMs: number): Promise<void> {
    for (let begin = 0; begin < observations.length; begin += batchSize) {
      const batch = observations.slice(begin, begin + batchSize);
      const stored = await this.#database.transaction({ kind: "tenant", tenantId, waitMs }, ({ query }) =>
        queries.storeSources({ tenantId, query }, batch, this.#clock.now()),
      );
      this.#notify(stored.map((row) => ({ tenant_id: tenantId, ...row })));
    }
  }

  /** Returns the later observation. Ignores an observation with a time in the future. */
  #laterOf(one: queries.SeenSource, other: queries.SeenSource): queries.SeenSource {
    return one.seen_at <= other.seen_at || isInFuture(new Date(one.seen_at), this.#clock.now()) ? other : one;
  }

  #notify(rows: readonly (queries.SeenSource & { readonly tenant_id: string })[]): void {
    for (const [tenantId, own] of groupBy(rows, (row) => row.tenant_id)) {
      const moved = own.map(({ device_id, gateway_id, source_address, seen_at }) => ({
        deviceId: device_id,
        gatewayId: gateway_id,
        source: { address: source_address, at: Date.parse(seen_at) },
      }));
      for (const follower of this.#followers) follower.moved(tenantId, moved);
    }
  }
}
