import { setTimeout as pause } from "node:timers/promises";
import { waitLimitMs } from "../../../../test/wait-limit.ts";
import { recentWarnings } from "./test-log.ts";

const pollMs = 5;

/**
 * Polls until a condition holds that causes no notification, such as a change reaching another replica.
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
    if (performance.now() - startedAt > timeoutMs) {
      throw new Error(`timed out waiting until ${what}${recentWarnings()}`);
    }
    await pause(pollMs);
  }
}
