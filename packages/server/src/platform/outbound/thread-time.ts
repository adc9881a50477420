import { readFileSync } from "node:fs";

/** The processor time of this thread. Node.js before version 23.9 has only that of the whole process. */
const file = "/proc/thread-self/schedstat";

/**
 * Makes a clock of the processor time that this thread has used, in milliseconds. The clock uses elapsed time if the
 * system does not report processor time. Some kernels report 0 for every thread.
 *
 * @param read returns the text of `schedstat`
 */
export function threadClock(read: () => string): () => number {
  let isReported: boolean | undefined;
  let lastMs = 0;
  const reportedMs = () => {
    try {
      lastMs = Number.parseInt(read(), 10) / 1e6;
    } catch {
      // The same clock continues: a difference of two clocks would mean nothing.
    }
    return lastMs;
  };
  return () => {
    isReported ??= reportedMs() > 0;
    return isReported ? reportedMs() : performance.now();
  };
}

export const threadTimeMs = threadClock(() => readFileSync(file, "latin1"));
