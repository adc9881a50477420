/**
 * Where devices are: what gateways and devices' own links tell is written down by batches, and what became of it is told to all who work with it,
 * on this replica and on the others. The database decides which sight counts, so all replicas come to the same. Addresses are in no log.
 */
import type { Database } from "../../platform/db/database.ts";
import type { Log } from "../../platform/log.ts";
import { Gathering } from "../channel/gathering.ts";
import * as queries from "./device-sources.queries.ts";

/** What was seen is written after this long, in milliseconds: of a device that was seen several times meanwhile, the last. */
const gatherMs = 100;
/** The most devices that one statement writes, or one look reads at once. */
const mostAtOnce = 2_000;
/** A change may be committed this long after the moment it carries, in milliseconds: more than a statement may take. Looks overlap by it. */
const overlapMs = 20_000;
const nobody = "00000000-0000-0000-0000-000000000000";

export interface MovedDevice {
  readonly deviceId: string;
  readonly sourceIp: string;
}

/** Works with the addresses of some tenants' devices. What it is told it may know already. */
export interface SourceFollower {
  readonly tenantIds: Iterable<string>;
  moved(tenantId: string, devices: readonly MovedDevice[]): void;
}

export interface DeviceSourcesOptions {
  readonly database: Database;
  readonly log: Log;
}

export class DeviceSources {
  readonly #database: Database;
  readonly #followers: SourceFollower[] = [];
  readonly #writing: Gathering;
  /** By tenant and device. */
  #seen = new Map<string, Map<string, queries.SeenSource>>();
  /** Up to where changes were told, by the database's clock; undefined before the first look. */
  #since: string | undefined;

  constructor({ database, log }: DeviceSourcesOptions) {
    this.#database = database;
    this.#writing = new Gathering(
      gatherMs,
      () => this.#write(),
      (error) => log.warn({ err: error }, "where devices are could not be written; it is tried again"),
    );
  }

  follow(follower: SourceFollower): void {
    this.#followers.push(follower);
  }

  /** @param address canonical */
  saw(tenantId: string, deviceId: string, address: string, at: Date): void {
    const seen = { device_id: deviceId, source_address: address, seen_at: at.toISOString() };
    this.#note(tenantId, seen);
    this.#writing.wake();
  }

  /** Writes all that is pending. @throws AppError database_unavailable; then it is tried again */
  flush(): Promise<void> {
    return this.#writing.now();
  }

  /**
   * Tells what became other anywhere since the last look. Called every second or so.
   *
   * @throws AppError database_unavailable; then the next look tells it
   */
  async look(): Promise<void> {
    const tenantIds = [...new Set(this.#followers.flatMap((follower) => [...follower.tenantIds]))];
    // Whoever begins with a tenant reads everything first.
    if (tenantIds.length === 0) {
      this.#since = undefined;
      return;
    }
    const at = await this.#database.snapshot({ kind: "operator" }, queries.databaseTime);
    const began = earlier(at);
    let after: queries.SourceCursor = {
      source_changed_at: this.#since ?? began,
      tenant_id: nobody,
      device_id: nobody,
    };
    for (;;) {
      const cursor = after;
      const rows = await this.#database.snapshot({ kind: "operator" }, (tx) =>
        queries.changedSources(tx, tenantIds, cursor, mostAtOnce),
      );
      this.#tell(rows);
      const last = rows.at(-1);
      if (last === undefined || rows.length < mostAtOnce) break;
      after = last;
    }
    this.#since = began;
  }

  async stop(): Promise<void> {
    await this.flush().catch(() => undefined);
    this.#writing.stop();
  }

  async #write(): Promise<void> {
    const pending = this.#seen;
    this.#seen = new Map();
    for (const [tenantId, devices] of pending) {
      const seen = [...devices.values()];
      try {
        for (let begin = 0; begin < seen.length; begin += mostAtOnce) {
          const batch = seen.slice(begin, begin + mostAtOnce);
          const stored = await this.#database.transaction({ kind: "tenant", tenantId }, ({ query }) =>
            queries.storeSources({ tenantId, query }, batch),
          );
          this.#tell(stored.map((row) => ({ tenant_id: tenantId, ...row })));
        }
        pending.delete(tenantId);
      } catch (error) {
        for (const [id, left] of pending) for (const item of left.values()) this.#note(id, item);
        throw error;
      }
    }
  }

  #note(tenantId: string, seen: queries.SeenSource): void {
    let devices = this.#seen.get(tenantId);
    if (devices === undefined) {
      devices = new Map();
      this.#seen.set(tenantId, devices);
    }
    const before = devices.get(seen.device_id);
    if (before === undefined || before.seen_at <= seen.seen_at) devices.set(seen.device_id, seen);
  }

  #tell(rows: readonly (queries.StoredSource & { readonly tenant_id: string })[]): void {
    const byTenant = new Map<string, MovedDevice[]>();
    for (const { tenant_id: tenantId, device_id: deviceId, source_address: sourceIp } of rows) {
      const moved = byTenant.get(tenantId) ?? [];
      moved.push({ deviceId, sourceIp });
      byTenant.set(tenantId, moved);
    }
    for (const [tenantId, moved] of byTenant) {
      for (const follower of this.#followers) follower.moved(tenantId, moved);
    }
  }
}

function earlier(at: string): string {
  return new Date(Date.parse(at) - overlapMs).toISOString();
}
