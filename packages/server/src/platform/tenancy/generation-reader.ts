import { setImmediate as turn } from "node:timers/promises";

/**
 * Asks for tenants' generations on behalf of many requests at once. Those that arrive in one turn of the event loop share
 * one question; whoever comes after it was sent asks anew, because its answer may be what was true before they came.
 */
export class GenerationReader {
  readonly #ask: (tenantId: string) => Promise<number | undefined>;
  /** Questions that were not sent yet, by tenant. */
  readonly #unsent = new Map<string, Promise<number | undefined>>();

  /** @param ask reads one tenant's generation inside its fence; undefined once the tenant is deleted */
  constructor(ask: (tenantId: string) => Promise<number | undefined>) {
    this.#ask = ask;
  }

  /**
   * @returns the tenant's generation, at least as new as this call
   * @throws what `ask` throws, to all that share the question
   */
  current(tenantId: string): Promise<number | undefined> {
    const shared = this.#unsent.get(tenantId);
    if (shared !== undefined) return shared;
    const question = turn().then(() => {
      this.#unsent.delete(tenantId);
      return this.#ask(tenantId);
    });
    this.#unsent.set(tenantId, question);
    return question;
  }
}
