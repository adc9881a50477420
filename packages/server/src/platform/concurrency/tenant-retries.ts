/** The pause after the first failure, in milliseconds. It doubles with each further one. */
const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
/** How long the first attempt may wait for a lock, in milliseconds. The time doubles with each failure. */
const firstWaitMs = 500;
/** Longer than a change set may hold the lock of its tenant. */
const longestWaitMs = 10_000;
/** A tenant is forgotten if its next attempt has been due for this long: its work is gone. */
const forgottenAfterMs = 10 * 60_000;

interface Failures {
  readonly count: number;
  /** When the next attempt is due, by `performance.now()`. */
  readonly dueAt: number;
}

/**
 * The tenants whose work failed, such as those with busy locks. Their next attempts are later, and wait longer. A
 * tenant whose lock is often held thus gets the lock after a few attempts.
 */
export class TenantRetries {
  readonly #failures = new Map<string, Failures>();

  /** The tenants whose next attempt is not due yet. */
  get pausing(): readonly string[] {
    return [...this.#failures.keys()].filter((tenantId) => !this.isDue(tenantId));
  }

  hasFailed(tenantId: string): boolean {
    return this.#failures.has(tenantId);
  }

  /** Whether the work of a tenant may be attempted now. */
  isDue(tenantId: string): boolean {
    return (this.#failures.get(tenantId)?.dueAt ?? Number.NEGATIVE_INFINITY) <= performance.now();
  }

  /** How long the next attempt may wait for a lock, in milliseconds. */
  waitMs(tenantId: string): number {
    return doubled(firstWaitMs, this.#failures.get(tenantId)?.count ?? 0, longestWaitMs);
  }

  succeeded(tenantId: string): void {
    this.#failures.delete(tenantId);
  }

  /** @returns the pause until the next attempt, in milliseconds */
  failed(tenantId: string): number {
    this.#forget();
    const count = this.#failures.get(tenantId)?.count ?? 0;
    const pauseMs = doubled(firstPauseMs, count, longestPauseMs);
    this.#failures.delete(tenantId);
    this.#failures.set(tenantId, { count: count + 1, dueAt: performance.now() + pauseMs });
    return pauseMs;
  }

  #forget(): void {
    const before = performance.now() - forgottenAfterMs;
    for (const [tenantId, { dueAt }] of this.#failures) if (dueAt < before) this.#failures.delete(tenantId);
  }
}

function doubled(ms: number, times: number, mostMs: number): number {
  return Math.min(mostMs, ms * 2 ** times);
}
