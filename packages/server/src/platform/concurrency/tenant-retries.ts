/** The pauses after the first, second … failure, in milliseconds. The last one also follows all further failures. */
const pausesMs = [1_000, 1_000, 2_000, 2_000, 5_000] as const;
/**
 * How long an attempt may wait for a lock after zero, one, two … failures, in milliseconds. The long ones exceed the
 * time for which a change set may hold the lock of its tenant. They differ, so that tenants with fewer failures are
 * served first.
 */
const waitsMs = [500, 2_000, 8_500, 9_000, 9_500, 10_000] as const;
/** A failure is forgotten if the tenant's next attempt has been due for this long, in milliseconds. */
const forgottenAfterMs = 10 * 60_000;

interface Failures {
  readonly count: number;
  /** When the next attempt is due, by `performance.now()`. */
  readonly dueAt: number;
}

/**
 * The tenants whose work failed, such as those with busy locks. Their next attempt is delayed, and may wait longer for
 * locks. A tenant whose lock is often held gets the lock after a few attempts.
 */
export class TenantRetries {
  readonly #failures = new Map<string, Failures>();

  /** The tenants whose last attempt failed. */
  get failing(): readonly string[] {
    return [...this.#failures.keys()].filter((tenantId) => this.hasFailed(tenantId));
  }

  /** The tenants whose next attempt is not due yet. */
  get pausing(): readonly string[] {
    return [...this.#failures.keys()].filter((tenantId) => !this.isDue(tenantId));
  }

  hasFailed(tenantId: string): boolean {
    const failures = this.#failures.get(tenantId);
    return failures !== undefined && failures.count > 0 && !isOld(failures);
  }

  /** Whether the work of a tenant may be attempted now. */
  isDue(tenantId: string): boolean {
    return (this.#failures.get(tenantId)?.dueAt ?? Number.NEGATIVE_INFINITY) <= performance.now();
  }

  /** How long the next attempt may wait for a lock, in milliseconds. */
  waitMs(tenantId: string): number {
    return numbered(waitsMs, this.hasFailed(tenantId) ? (this.#failures.get(tenantId)?.count ?? 0) : 0);
  }

  /** Delays the next attempt without counting a failure. */
  postpone(tenantId: string): void {
    const count = this.#failures.get(tenantId)?.count ?? 0;
    this.#failures.set(tenantId, { count, dueAt: performance.now() + pausesMs[0] });
  }

  succeeded(tenantId: string): void {
    this.#failures.delete(tenantId);
  }

  /** @returns the pause until the next attempt, in milliseconds */
  failed(tenantId: string): number {
    // Also counts failures of long ago: the work may be rare.
    const count = this.#failures.get(tenantId)?.count ?? 0;
    const pauseMs = numbered(pausesMs, count);
    for (const [other, failures] of this.#failures) if (isOld(failures)) this.#failures.delete(other);
    this.#failures.set(tenantId, { count: count + 1, dueAt: performance.now() + pauseMs });
    return pauseMs;
  }
}

function isOld({ dueAt }: Failures): boolean {
  return dueAt < performance.now() - forgottenAfterMs;
}

function numbered(times: readonly [number, ...number[]], index: number): number {
  return times[index] ?? times.at(-1) ?? times[0];
}
