import { readFileSync } from "node:fs";

/** The processor time of this thread. Node.js before version 23.9 has only that of the whole process. */
const file = "/proc/thread-self/schedstat";

/** The processor time that this thread has used, in milliseconds. Elapsed time where the system does not report it. */
export function threadTimeMs(): number {
  try {
    return Number.parseInt(readFileSync(file, "latin1"), 10) / 1e6;
  } catch {
    return performance.now();
  }
}
