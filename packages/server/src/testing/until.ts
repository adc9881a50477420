import { setTimeout as pause } from "node:timers/promises";
import { waitLimitMs } from "../../../../test/wait-limit.ts";
import { recentWarnings } from "./test-log.ts";

const shortestPauseMs = 5;
/** Conditions often send requests. Frequent ones would take the processor from what the test waits for. */
const longestPauseMs = 100;

/**
 * Polls until a condition holds that causes no notification, such as a change reaching another replica. Each pause is
 * about a tenth of the time waited so far, and at most 100 ms.
 *
 * @param what completes the sentence "timed out waiting until …"
 * @returns how long it took, in milliseconds
 */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = waitLimitMs,
): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    if (await condition()) return performance.now() - startedAt;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > timeoutMs) throw new Error(`timed out waiting until ${what}${recentWarnings()}`);
    await pause(Math.min(longestPauseMs, shortestPauseMs + waitedMs / 10));
  }
}
