import { exitCodes } from "../failure.ts";
import { writeError } from "../output.ts";

/** Signals within this time count as one: npm forwards a Ctrl-C that the terminal has already sent. In milliseconds. */
const sameRequestMs = 1_000;

/** The exit status that shells report for a program that was interrupted. */
const interrupted = 130;

/** How long an aborted start may take to end, in milliseconds. */
const stopMs = 15_000;

/**
 * Returns a signal that is aborted when this process is asked to stop. A second request ends the process immediately.
 */
export function untilStopped(): AbortSignal {
  const controller = new AbortController();
  let stopRequestedAt: number | undefined;
  const stop = () => {
    if (stopRequestedAt === undefined) {
      stopRequestedAt = performance.now();
      controller.abort(new Error("Stopped during the start."));
    } else if (performance.now() - stopRequestedAt > sameRequestMs) {
      process.exit(interrupted);
    }
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  return controller.signal;
}

/**
 * Waits for work that received this signal, and ends the process if the work does not end after it was aborted: file
 * systems and databases can block it forever.
 */
export async function endInTime<T>(work: Promise<T>, stopped: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const giveUp = () => {
    writeError(`The start did not end within ${stopMs / 1_000} seconds of the stop request. Exiting.\n`);
    process.exit(exitCodes.failed);
  };
  const limit = () => {
    timer = setTimeout(giveUp, stopMs);
  };
  if (stopped.aborted) limit();
  stopped.addEventListener("abort", limit, { once: true });
  try {
    return await work;
  } finally {
    stopped.removeEventListener("abort", limit);
    clearTimeout(timer);
  }
}
