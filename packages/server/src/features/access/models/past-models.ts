import type { TenantModel } from "../../../platform/tenancy/tenant-models.ts";
import type { HistoryRow } from "../history/history.queries.ts";
import { factsOfHistory } from "../history/history.ts";
import { CachedModel } from "./cached-model.ts";

/** The number of cached models, for callers that read several pages. */
const mostCached = 4;

/**
 * Models of past generations, built on demand: one at a time for each tenant. Only the last few are cached. The past
 * does not change, so they never become stale.
 */
export class PastModels {
  /** Ordered by use: the least recently used model comes first. */
  readonly #kept = new Map<string, TenantModel>();
  readonly #loading = new Map<string, Promise<unknown>>();

  /** @param read reads the latest version of each existing record at the generation */
  async at(tenantId: string, generation: number, read: () => Promise<readonly HistoryRow[]>): Promise<TenantModel> {
    const key = `${tenantId} ${generation}`;
    for (;;) {
      const kept = this.#kept.get(key);
      if (kept !== undefined) {
        this.#kept.delete(key);
        this.#kept.set(key, kept);
        return kept;
      }
      const loading = this.#loading.get(tenantId);
      if (loading === undefined) break;
      await loading.catch(() => undefined);
    }
    const loading = this.#load(key, generation, read);
    this.#loading.set(tenantId, loading);
    try {
      return await loading;
    } finally {
      this.#loading.delete(tenantId);
    }
  }

  clear(): void {
    this.#kept.clear();
  }

  async #load(key: string, generation: number, read: () => Promise<readonly HistoryRow[]>): Promise<TenantModel> {
    const model = CachedModel.of(generation, factsOfHistory(await read()));
    this.#kept.set(key, model);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= mostCached) break;
      this.#kept.delete(oldest);
    }
    return model;
  }
}
