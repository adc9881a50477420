import { exitCodes } from "../failure.ts";
import { writeError } from "../output.ts";

/** Signals closer together than this are one wish: npm passes on the Ctrl-C that the terminal sent already. In milliseconds. */
const sameWishMs = 1_000;

/** The status that shells give to a program that an interrupt ended. */
const interrupted = 130;

/** How long a start that was told to stop may take to come back, in milliseconds. */
const stopMs = 15_000;

/** @returns a signal that is aborted when this process is asked to stop; asking again ends the process at once */
export function untilStopped(): AbortSignal {
  const controller = new AbortController();
  let askedAt: number | undefined;
  const stop = () => {
    if (askedAt === undefined) {
      askedAt = performance.now();
      controller.abort(new Error("Stopped before it had started."));
    } else if (performance.now() - askedAt > sameWishMs) {
      process.exit(interrupted);
    }
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  return controller.signal;
}

/**
 * Waits for work that was given this signal, and ends the process when it does not come back once stopped: file systems
 * and databases can keep it for ever.
 */
export async function endInTime<T>(work: Promise<T>, stopped: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const giveUp = () => {
    writeError(`Told to stop ${stopMs / 1_000} seconds ago, and the start has not come back: ended by force.\n`);
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
