import { setTimeout as pause } from "node:timers/promises";
import { errorText } from "./embedded-postgres-error.ts";
import type { LogEvent } from "./server-log.ts";
import { stopServer } from "./server-process.ts";
import { describeEnd, type WatchedProcess } from "./watched-process.ts";

const firstDelayMs = 100;
const longestDelayMs = 10_000;
/** A server that ran this long had recovered. Its next failure counts as a new one. */
const settledAfterMs = 60_000;

export interface Supervision {
  /** Process id of the server; undefined while no server runs. */
  readonly pid: number | undefined;
  /** Stops the server and the supervision; the same promise on every call. */
  stop(): Promise<void>;
}

/**
 * Keeps the server running. If the server ends unexpectedly, it is restarted without limit: at once, then with delays
 * that grow up to 10 s. Meanwhile Gatehouse responds that its database is unavailable.
 *
 * @param first the server that runs now
 * @param start starts the next one; rejects if it does not start, or if the signal aborts
 */
export function supervise(
  first: WatchedProcess,
  start: (abort: AbortSignal) => Promise<WatchedProcess>,
  log: (event: LogEvent) => void,
): Supervision {
  const stopping = new AbortController();
  const stopRequested = new Promise<void>((resolve) => stopping.signal.addEventListener("abort", () => resolve()));
  let server: WatchedProcess | undefined = first;

  async function keepRunning(): Promise<void> {
    let failures = 0;
    let startedAt = performance.now();
    while (!stopping.signal.aborted) {
      if (server !== undefined) {
        const end = await Promise.race([server.ended, stopRequested]);
        if (end === undefined) break;
        server = undefined;
        if (performance.now() - startedAt > settledAfterMs) failures = 0;
        log({ level: "error", message: `PostgreSQL ended unexpectedly (${describeEnd(end)}); starting it again` });
      }
      const delayMs = Math.min(firstDelayMs * 2 ** failures, longestDelayMs);
      failures += 1;
      await pause(delayMs, undefined, { signal: stopping.signal }).catch(() => {}); // aborted: the loop ends
      if (stopping.signal.aborted) break;
      startedAt = performance.now();
      server = await start(stopping.signal).catch((error: unknown) => {
        if (!stopping.signal.aborted) log({ level: "error", message: errorText(error) });
        return undefined;
      });
      if (server !== undefined) log({ level: "info", message: "PostgreSQL is running again" });
    }
    if (server !== undefined) await stopServer(server);
    server = undefined;
  }

  const done = keepRunning();
  return {
    get pid() {
      return server?.pid;
    },
    stop() {
      stopping.abort();
      return done;
    },
  };
}
