import { Semaphore } from "../concurrency/semaphore.ts";
import { TenantShareError } from "./database-errors.ts";

/**
 * A limit to the connections that one tenant uses at the same time. Commands of a tenant wait for each other while they
 * hold a connection. Without the limit, a tenant that sends many of them would use all connections.
 */
export class TenantShares {
  readonly #permits: number;
  readonly #longestWaitMs: number;
  /** Tenants that use a connection. */
  readonly #tenants = new Map<string, Semaphore>();

  /**
   * @param poolSize the connections of all tenants together; a tenant may use three quarters of them, and at least one
   * @param longestWaitMs how long to wait for a connection, in milliseconds
   */
  constructor(poolSize: number, longestWaitMs: number) {
    this.#permits = Math.max(1, Math.floor((poolSize * 3) / 4));
    this.#longestWaitMs = longestWaitMs;
  }

  /**
   * Takes a part of the tenant's share. Return it with `leave`, unless this throws.
   *
   * @param waitMs how long to wait at most, in milliseconds
   * @returns undefined if one was free
   * @throws TenantShareError if none becomes free in time
   */
  enter(tenantId: string, waitMs = this.#longestWaitMs): Promise<void> | undefined {
    let share = this.#tenants.get(tenantId);
    if (share === undefined) {
      share = new Semaphore(this.#permits);
      this.#tenants.set(tenantId, share);
    }
    const afterMs = Math.min(waitMs, this.#longestWaitMs);
    return share.acquire({ afterMs, error: () => new TenantShareError() });
  }

  leave(tenantId: string): void {
    const share = this.#tenants.get(tenantId);
    share?.release();
    if (share?.isUnused === true) this.#tenants.delete(tenantId);
  }
}
