/** Times of the agent protocol that gateways and devices share (packages/agent-protocol, SPEC.md). */

/** An agent that does not answer a configuration for this long is disconnected, in milliseconds. */
export const answerTimeoutMs = 60_000;

/** A refused configuration is offered again after this long, in milliseconds; then after twice as long each time. */
const firstRetryMs = 30_000;
const longestRetryMs = 10 * 60_000;

/** When to offer a configuration again that the agent refused. */
export class RefusalBackoff {
  #retry: { readonly at: number; readonly waitMs: number } | undefined;

  /** Whether a configuration was refused and is not to be offered yet. */
  isWaiting(now: number): boolean {
    return this.#retry !== undefined && now < this.#retry.at;
  }

  /** Whether a configuration was refused and may be offered again. */
  isDue(now: number): boolean {
    return this.#retry !== undefined && now >= this.#retry.at;
  }

  refused(now: number): void {
    const waitMs = this.#retry === undefined ? firstRetryMs : Math.min(this.#retry.waitMs * 2, longestRetryMs);
    this.#retry = { at: now + waitMs, waitMs };
  }

  reset(): void {
    this.#retry = undefined;
  }
}

/**
 * Returns the time at which to issue a configuration, so that it is later than the latest one even if clocks differ.
 */
export function issueTime(
  latest: { readonly generation: number; readonly issuedAt: number } | undefined,
  generation: number,
  now: number,
): number {
  return latest?.generation === generation ? Math.max(now, latest.issuedAt + 1) : now;
}
