import { AsyncResource } from "node:async_hooks";
import type { Database } from "../db/database.ts";
import { databaseUnavailable, isConsequence, isDatabaseUnavailable } from "../db/database-errors.ts";
import { readTenantState, type TenantState } from "./generation.queries.ts";
import type { TenantTx } from "./tenant-tx.ts";

/** The most reads of one snapshot. More would wait for each other instead of using several connections. */
const maxReads = 16;

/** Rows, and the state of the tenant in the snapshot that they were read in. */
export interface SnapshotRows<Rows> {
  /** Undefined once the tenant is deleted. */
  readonly state: TenantState | undefined;
  readonly rows: Rows;
}

interface SharedSnapshot {
  readonly works: ((tx: TenantTx) => Promise<unknown>)[];
  readonly results: Promise<{ readonly state: TenantState | undefined; readonly reads: readonly Read[] }>;
}

type Read = PromiseSettledResult<unknown>;

/**
 * Reads small things of a tenant for many requests at once. Requests in the same turn of the event loop share BEGIN,
 * the tenant, the tenant's state and COMMIT, which together cost more than reading one record.
 */
export class SharedSnapshots {
  readonly #database: Pick<Database, "snapshot">;
  /** Snapshots that have not begun yet, by tenant. */
  readonly #unsent = new Map<string, SharedSnapshot>();

  constructor(database: Pick<Database, "snapshot">) {
    this.#database = database;
  }

  /**
   * Reads in a snapshot that begins after this call.
   *
   * @param work must start all its queries before it first awaits, and must not change settings of the transaction
   * @throws AppError database_unavailable; what `work` throws
   */
  async read<Rows>(tenantId: string, work: (tx: TenantTx) => Promise<Rows>): Promise<SnapshotRows<Rows>> {
    let shared = this.#unsent.get(tenantId);
    if (shared === undefined || shared.works.length >= maxReads) {
      shared = this.#begin(tenantId);
      this.#unsent.set(tenantId, shared);
    }
    // Queries are attributed to the request that asks for them.
    const place = shared.works.push(AsyncResource.bind(work)) - 1;
    const { state, reads } = await shared.results;
    const read = reads[place];
    if (read?.status === "fulfilled") return { state, rows: read.value as Rows }; // this place is this work's
    const error: unknown = read?.reason;
    // The query of another request failed the transaction.
    if (isConsequence(error)) return this.#readAlone(tenantId, work);
    throw isDatabaseUnavailable(error) ? databaseUnavailable(error) : error;
  }

  #begin(tenantId: string): SharedSnapshot {
    const works: SharedSnapshot["works"] = [];
    const results = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      if (this.#unsent.get(tenantId)?.works === works) this.#unsent.delete(tenantId);
      return this.#database.snapshot({ kind: "tenant", tenantId }, async ({ query }) => {
        const tx: TenantTx = { tenantId, query };
        // The state comes first: a statement that fails makes all later ones fail.
        const state = readTenantState(tx);
        const reads = Promise.allSettled(works.map((work) => started(work, tx)));
        return { state: await state, reads: await reads };
      });
    });
    return { works, results };
  }

  #readAlone<Rows>(tenantId: string, work: (tx: TenantTx) => Promise<Rows>): Promise<SnapshotRows<Rows>> {
    return this.#database.snapshot({ kind: "tenant", tenantId }, async ({ query }) => {
      const tx: TenantTx = { tenantId, query };
      const [state, rows] = await Promise.all([readTenantState(tx), work(tx)]);
      return { state, rows };
    });
  }
}

/** Calls `work` at once and converts a synchronous exception to a rejection. */
function started(work: (tx: TenantTx) => Promise<unknown>, tx: TenantTx): Promise<unknown> {
  try {
    return work(tx);
  } catch (error) {
    return Promise.reject(error);
  }
}
