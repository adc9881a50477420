/** The log of the test servers of a worker. Failed waits and unexpected answers quote its last warnings. */
import type { DestinationStream } from "pino";
import { createLog, type Log } from "../platform/log.ts";

const longestLog = 20;
const longestLine = 1_500;

const lines: string[] = [];

const target: DestinationStream = {
  write(line) {
    lines.push(`${line.trim().slice(0, longestLine)}\n`);
    if (lines.length > longestLog) lines.shift();
  },
};

/** Remembers the last warnings and errors of the worker's servers. */
export const testLog: Log = createLog("warn", target);

/** The last warnings and errors as a paragraph of an error message; empty if there are none. */
export function recentWarnings(): string {
  return lines.length === 0 ? "" : `\nLast warnings of this worker's servers:\n${lines.join("")}`;
}
