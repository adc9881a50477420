import type { TenantModel } from "../../../platform/tenancy/tenant-models.ts";
import type { HistoryRow } from "../history/history.queries.ts";
import { factsOfHistory } from "../history/history.ts";
import { KeptModel } from "./kept-model.ts";

/** Models that are kept for who pages through them. */
const mostKept = 4;

/**
 * Models of past generations, made anew when they are asked for: one at a time for each tenant, and only the last few are kept. A
 * past does not change, so they never grow old.
 */
export class PastModels {
  /** In order of use: the first was used longest ago. */
  readonly #kept = new Map<string, TenantModel>();
  readonly #loading = new Map<string, Promise<unknown>>();

  /** @param read the last versions up to the generation, of what was there */
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
    const model = KeptModel.of(generation, factsOfHistory(await read()));
    this.#kept.set(key, model);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= mostKept) break;
      this.#kept.delete(oldest);
    }
    return model;
  }
}
