/**
 * How many of the connections one tenant may have at the same time. Its commands wait for each other, also on connections,
 * so that without a bound a tenant that sends many of them keeps every other tenant, and the operator, out of the database.
 */

/** Said like what `pg` says when no connection comes free in time, and means the same. */
const waitedTooLong = "timeout exceeded when trying to connect: the tenant has its share of the connections already";

export class TenantShares {
  readonly #most: number;
  readonly #waitMs: number;
  /** How many each tenant has, and who waits for one; the first came first. Tenants that have none are not in it. */
  readonly #held = new Map<string, { count: number; readonly waiting: Set<() => void> }>();

  /**
   * @param poolSize connections that there are for everybody; a tenant gets three quarters of them, and at least one
   * @param waitMs how long to wait for one, in milliseconds
   */
  constructor(poolSize: number, waitMs: number) {
    this.#most = Math.max(1, Math.floor((poolSize * 3) / 4));
    this.#waitMs = waitMs;
  }

  /**
   * Give it back with `leave`, unless this throws.
   *
   * @returns undefined when there was one at once
   * @throws Error when none came free in time
   */
  enter(tenantId: string): Promise<void> | undefined {
    const held = this.#held.get(tenantId);
    if (held === undefined) {
      this.#held.set(tenantId, { count: 1, waiting: new Set() });
      return undefined;
    }
    if (held.count < this.#most) {
      held.count += 1;
      return undefined;
    }
    const { waiting } = held;
    return new Promise((resolve, reject) => {
      const proceed = () => {
        clearTimeout(timer);
        waiting.delete(proceed);
        resolve();
      };
      const timer = setTimeout(() => {
        waiting.delete(proceed);
        reject(new Error(waitedTooLong));
      }, this.#waitMs);
      waiting.add(proceed);
    });
  }

  leave(tenantId: string): void {
    const held = this.#held.get(tenantId);
    if (held === undefined) return;
    // Whoever waits longest has it from here.
    const [next] = held.waiting;
    if (next !== undefined) {
      next();
      return;
    }
    held.count -= 1;
    if (held.count === 0) this.#held.delete(tenantId);
  }
}
