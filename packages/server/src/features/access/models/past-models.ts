import type { Evaluator } from "../../../platform/evaluation/evaluator.ts";
import type { TenantModel } from "../../../platform/tenancy/tenant-models.ts";
import type { HistoryRow } from "../history/history.queries.ts";
import { CachedModel } from "./cached-model.ts";

/** The number of cached models, for callers that read several pages. */
const mostCached = 4;

/**
 * Models of past generations, built on demand: one at a time for each tenant. Only the last few are cached. The past
 * does not change, so they never become stale.
 */
export class PastModels {
  readonly #evaluator: Evaluator;
  /** Ordered by use: the least recently used model comes first. */
  readonly #cached = new Map<string, TenantModel>();
  readonly #loading = new Map<string, Promise<unknown>>();

  constructor(evaluator: Evaluator) {
    this.#evaluator = evaluator;
  }

  /** @param read reads the latest version of each existing record at the generation */
  async at(tenantId: string, generation: number, read: () => Promise<readonly HistoryRow[]>): Promise<TenantModel> {
    const key = `${tenantId} ${generation}`;
    for (;;) {
      const cached = this.#cached.get(key);
      if (cached !== undefined) {
        this.#cached.delete(key);
        this.#cached.set(key, cached);
        return cached;
      }
      const loading = this.#loading.get(tenantId);
      if (loading === undefined) break;
      await loading.catch(() => undefined);
    }
    const loading = this.#load(tenantId, generation, read);
    this.#loading.set(tenantId, loading);
    try {
      return await loading;
    } finally {
      this.#loading.delete(tenantId);
    }
  }

  clear(): void {
    this.#cached.clear();
  }

  async #load(tenantId: string, generation: number, read: () => Promise<readonly HistoryRow[]>): Promise<TenantModel> {
    const rows = await read();
    const model = await this.#evaluator.decide(tenantId, CachedModel.buildingPast(generation, rows));
    this.#cached.set(`${tenantId} ${generation}`, model);
    for (const oldest of this.#cached.keys()) {
      if (this.#cached.size <= mostCached) break;
      this.#cached.delete(oldest);
    }
    return model;
  }
}
