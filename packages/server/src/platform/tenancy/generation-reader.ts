import { setImmediate as turn } from "node:timers/promises";
import type { TenantState } from "./generation.queries.ts";

/**
 * Reads the states of tenants for many requests at once. Requests in the same turn of the event loop share one query. A
 * request after the query was sent starts another query, because the first answer may be out of date.
 */
export class GenerationReader {
  readonly #ask: (tenantId: string) => Promise<TenantState | undefined>;
  /** Queries that were not sent yet, by tenant. */
  readonly #unsent = new Map<string, Promise<TenantState | undefined>>();

  /** @param ask reads one tenant's state inside its fence; undefined once the tenant is deleted */
  constructor(ask: (tenantId: string) => Promise<TenantState | undefined>) {
    this.#ask = ask;
  }

  /**
   * @returns the tenant's state, at least as new as this call
   * @throws what `ask` throws, to all requests that share the query
   */
  state(tenantId: string): Promise<TenantState | undefined> {
    const shared = this.#unsent.get(tenantId);
    if (shared !== undefined) return shared;
    const question = turn().then(() => {
      this.#unsent.delete(tenantId);
      return this.#ask(tenantId);
    });
    this.#unsent.set(tenantId, question);
    return question;
  }

  /** The tenant's generation, like `state`. */
  async current(tenantId: string): Promise<number | undefined> {
    return (await this.state(tenantId))?.generation;
  }
}
