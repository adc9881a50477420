import { type AcquireTimeout, Semaphore } from "../concurrency/semaphore.ts";

/** Worded like the message of `pg` when no connection becomes free in time: both mean the same to the caller. */
const waitedTooLong = "timeout exceeded when trying to connect: the tenant uses its share of the connections";

/**
 * A limit to the connections that one tenant uses at the same time. Commands of a tenant wait for each other while they
 * hold a connection. Without the limit, a tenant that sends many of them would use all connections.
 */
export class TenantShares {
  readonly #permits: number;
  readonly #timeout: AcquireTimeout;
  /** Tenants that use a connection. */
  readonly #tenants = new Map<string, Semaphore>();

  /**
   * @param poolSize the connections of all tenants together; a tenant may use three quarters of them, and at least one
   * @param waitMs how long to wait for a connection, in milliseconds
   */
  constructor(poolSize: number, waitMs: number) {
    this.#permits = Math.max(1, Math.floor((poolSize * 3) / 4));
    this.#timeout = { afterMs: waitMs, error: () => new Error(waitedTooLong) };
  }

  /**
   * Takes a part of the tenant's share. Return it with `leave`, unless this throws.
   *
   * @returns undefined if one was free
   * @throws Error if none becomes free in time
   */
  enter(tenantId: string): Promise<void> | undefined {
    let share = this.#tenants.get(tenantId);
    if (share === undefined) {
      share = new Semaphore(this.#permits);
      this.#tenants.set(tenantId, share);
    }
    return share.acquire(this.#timeout);
  }

  leave(tenantId: string): void {
    const share = this.#tenants.get(tenantId);
    share?.release();
    if (share?.isUnused === true) this.#tenants.delete(tenantId);
  }
}
