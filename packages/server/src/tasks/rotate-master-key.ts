/** Re-encrypts stored secrets in the background during a rotation of the master key. */
import type { BackgroundTask } from "../platform/background-task.ts";
import type { Database } from "../platform/db/database.ts";
import type { Log } from "../platform/log.ts";
import type { MasterKeys } from "../platform/secrets/master-key.ts";
import { isResealed, isResealRequested, requestReseal } from "../platform/secrets/reseal.ts";
import { resealSecrets } from "../platform/secrets/reseal-pass.ts";

export const masterKeyRotationName = "master-key-rotation";
const intervalMs = 30_000;

export interface RotationOptions {
  readonly database: Database;
  readonly masterKeys: MasterKeys;
  /** Called once everything is encrypted with the current key. Absent if a person removes the second key. */
  readonly finished?: (() => Promise<void>) | undefined;
  readonly log: Log;
}

/**
 * Without `finished`, the keys are configured, and other servers may still encrypt with the second one: then the work
 * begins after `gatehouse rotate master-key`.
 */
export function masterKeyRotation({ database, masterKeys, finished, log }: RotationOptions): BackgroundTask[] {
  const { current, second } = masterKeys;
  if (second === undefined) return [];
  let isFinished = false;
  const failures = new Map<string, number>();
  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    stopping.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const rotate = async () => {
    // An interrupted replacement of the key's file leaves the same key twice.
    if (!second.equals(current) && !(await isResealRequested(database, masterKeys))) {
      if (finished === undefined) return;
      await requestReseal(database, masterKeys);
    }
    if (!(await isResealed(database, masterKeys))) {
      const { resealed, unreadable } = await resealSecrets({
        database,
        masterKeys,
        log,
        failures,
        signal: stopping.signal,
      });
      log.info({ resealed, unreadable }, "re-encrypted stored secrets with the current master key");
      if (unreadable > 0) {
        log.error({ unreadable }, "some secrets are encrypted with neither master key; keep the second key");
        return;
      }
      log.info("master key rotation is complete; the second master key is not needed any more");
    }
    // With configured keys, an operator can request another pass.
    isFinished = finished !== undefined;
    await finished?.();
  };
  const run = async () => {
    // A wait for a lock can outlast the time that a server has to shut down. Closing the database interrupts the wait.
    if (!isFinished && !stopping.signal.aborted) await Promise.race([rotate(), stopped]);
  };
  // The next start continues.
  const stop = async () => stopping.abort();
  return [{ name: masterKeyRotationName, intervalMs, run, stop }];
}
