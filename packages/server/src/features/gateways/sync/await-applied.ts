/** Waits until the gateways of a tenant enforce a change: what `?wait=applied` asks for. */
import type { SyncState } from "@gatehouse/contract/records/gateway-sync";
import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/database.ts";
import { readGeneration } from "../../../platform/tenancy/generation.queries.ts";
import { readSyncOfAll, type SyncRow } from "./gateway-sync.queries.ts";
import { isProven, isUnderWay, syncState } from "./gateway-sync.rules.ts";

/** How often the database is asked while somebody waits, in milliseconds. All who wait for a tenant share the asking. */
const pollMs = 40;

/** What came of waiting. */
export interface AppliedProof {
  /** Of the tenant, once the change was made. */
  readonly generation: number;
  /** How many gateways there are. */
  readonly gateways: number;
  /** Those that have not said that they enforce it, and how far they are. */
  readonly missing: readonly { readonly gatewayId: string; readonly state: SyncState }[];
}

interface Look {
  readonly generation: number;
  readonly rows: readonly SyncRow[];
}

export class AppliedWaiting {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #looks = new Map<string, Promise<Look>>();

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * Waits for the tenant's present generation, which a command that just ended has made, or one after it.
   *
   * @param timeoutMs how long at most
   * @param left aborted when nobody waits any more
   * @throws AppError database_unavailable
   */
  async wait(tenantId: string, timeoutMs: number, left: AbortSignal): Promise<AppliedProof> {
    const startedAt = performance.now();
    const { generation } = await this.#look(tenantId);
    for (;;) {
      const { rows } = await this.#look(tenantId);
      const now = this.#clock.now();
      const states = rows.map((row) => ({ gatewayId: row.id, state: syncState(row, generation, now) }));
      const missing = states.filter(({ state }) => !isProven(state));
      const isOver = performance.now() - startedAt >= timeoutMs || left.aborted;
      if (isOver || !missing.some(({ state }) => isUnderWay(state))) {
        return { generation, gateways: rows.length, missing };
      }
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  }

  /** Looks at all gateways of the tenant. Who comes while a question is on its way waits for the next one: the answer may be from before. */
  async #look(tenantId: string): Promise<Look> {
    const running = this.#looks.get(tenantId);
    if (running !== undefined) await running.catch(() => undefined);
    const next = this.#looks.get(tenantId);
    if (next !== undefined && next !== running) return next;
    const look = this.#read(tenantId).finally(() => {
      if (this.#looks.get(tenantId) === look) this.#looks.delete(tenantId);
    });
    this.#looks.set(tenantId, look);
    return look;
  }

  async #read(tenantId: string): Promise<Look> {
    const [generation, rows] = await this.#database.snapshot({ kind: "tenant", tenantId }, ({ query }) =>
      Promise.all([readGeneration({ tenantId, query }), readSyncOfAll({ tenantId, query })]),
    );
    return { generation: generation ?? 0, rows };
  }
}
