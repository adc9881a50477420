/** Waits until a tenant's gateways enforce a change, for `?wait=applied`. */
import type { SyncState } from "@gatehouse/contract/records/gateway-sync";
import type { Clock } from "../../../platform/clock.ts";
import type { CommandRunner } from "../../../platform/command.ts";
import type { Database } from "../../../platform/db/database.ts";
import type { SharedTime } from "../../../platform/shared-time.ts";
import { readGeneration } from "../../../platform/tenancy/generation.queries.ts";
import { readScopeOfRequest, readSyncOfAll, type SyncRow } from "./gateway-sync.queries.ts";
import { isConcerned, isProven, isUnderWay, syncState } from "./gateway-sync.rules.ts";

/**
 * The interval of polling the database while requests wait, in milliseconds. All waiting requests of a tenant share a
 * poll.
 */
const pollMs = 40;

/** The result of waiting. */
export interface AppliedProof {
  /** The tenant's generation after the change. */
  readonly generation: number;
  /** The number of gateways that the change concerns. */
  readonly gateways: number;
  /** Gateways that have not confirmed the change, and their states. */
  readonly missing: readonly { readonly gatewayId: string; readonly state: SyncState }[];
}

interface Poll {
  readonly generation: number;
  readonly rows: readonly SyncRow[];
}

export class AppliedWaiting {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #sharedTime: SharedTime;
  readonly #polls = new Map<string, Promise<Poll>>();

  constructor({ database, clock, sharedTime }: Pick<CommandRunner, "database" | "clock" | "sharedTime">) {
    this.#database = database;
    this.#clock = clock;
    this.#sharedTime = sharedTime;
  }

  /**
   * Waits for the tenant's current generation, which a command has just made, or for a later one. Gateways that the
   * request does not concern are left out.
   *
   * @param requestId the request that made the change
   * @param timeoutMs the maximum wait
   * @param left aborted if nobody waits any more
   * @throws AppError database_unavailable
   */
  async wait(tenantId: string, requestId: string, timeoutMs: number, left: AbortSignal): Promise<AppliedProof> {
    const startedAt = performance.now();
    const { generation } = await this.#poll(tenantId);
    const scope = await this.#database.snapshot({ kind: "tenant", tenantId }, ({ query }) =>
      readScopeOfRequest({ tenantId, query }, requestId),
    );
    for (;;) {
      const { rows: all } = await this.#poll(tenantId);
      const times = { now: this.#clock.now(), shared: this.#sharedTime.now() };
      const rows = all.filter((row) => isConcerned(row, scope, times));
      const states = rows.map((row) => ({ gatewayId: row.id, state: syncState(row, generation, times) }));
      const missing = states.filter(({ state }) => !isProven(state));
      const isOver = performance.now() - startedAt >= timeoutMs || left.aborted;
      if (isOver || !missing.some(({ state }) => isUnderWay(state))) {
        return { generation, gateways: rows.length, missing };
      }
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  }

  /**
   * Polls the states of all gateways of the tenant. A request that arrives during a poll waits for the next one,
   * because the current answer may be older than the request.
   */
  async #poll(tenantId: string): Promise<Poll> {
    const running = this.#polls.get(tenantId);
    if (running !== undefined) await running.catch(() => undefined);
    const next = this.#polls.get(tenantId);
    if (next !== undefined && next !== running) return next;
    const poll = this.#read(tenantId).finally(() => {
      if (this.#polls.get(tenantId) === poll) this.#polls.delete(tenantId);
    });
    this.#polls.set(tenantId, poll);
    return poll;
  }

  async #read(tenantId: string): Promise<Poll> {
    const [generation, rows] = await this.#database.snapshot({ kind: "tenant", tenantId }, ({ query }) =>
      Promise.all([readGeneration({ tenantId, query }), readSyncOfAll({ tenantId, query })]),
    );
    return { generation: generation ?? 0, rows };
  }
}
