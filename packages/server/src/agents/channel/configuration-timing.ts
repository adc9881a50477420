/** Times of the agent protocol that gateways and devices share (packages/agent-protocol, SPEC.md). */

import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import { toleranceMs } from "../../platform/stored-times.ts";

type Order = Pick<ConfigurationName, "generation" | "issuedAt">;

/** The most by which the clocks of replicas differ, in milliseconds. */
export const clockToleranceMs = toleranceMs;

/** How far the clock may be set back before later content is recomputed, in milliseconds. */
export const setBackToleranceMs = 5_000;

/** An agent that does not answer a configuration for this long is disconnected, in milliseconds. */
export const answerTimeoutMs = 60_000;

/** A refused configuration is offered again after this long, in milliseconds; then after twice as long each time. */
const firstRetryMs = 30_000;
const longestRetryMs = 10 * 60_000;

/** When to offer a configuration again that the agent refused. Times are by `clock.elapsedMs()`. */
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
export function issueTime(latest: Order | undefined, generation: number, now: number): number {
  return latest?.generation === generation ? Math.max(now, latest.issuedAt + 1) : now;
}

/**
 * Returns the position in the order of configurations that the next one must follow. Agents can claim any time. A claim
 * with a future time therefore raises the generation, and the next configuration has the time of the server.
 *
 * @param claimed the configuration that the agent claims to have
 * @returns a generation that is not a safe integer if nothing can follow
 */
export function orderToFollow(claimed: Order, now: number): Order {
  return isIssuedInFuture(claimed, now) ? { generation: claimed.generation + 1, issuedAt: 0 } : claimed;
}

/** Whether a configuration claims to be issued later than any clock of a replica allows. */
export function isIssuedInFuture({ issuedAt }: Pick<Order, "issuedAt">, now: number): boolean {
  return issuedAt > now + clockToleranceMs;
}
