/** Signals closer together than this are one wish: npm passes on the Ctrl-C that the terminal sent already. In milliseconds. */
const sameWishMs = 1_000;

/** The status that shells give to a program that an interrupt ended. */
const interrupted = 130;

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
