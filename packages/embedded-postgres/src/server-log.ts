export type LogLevel = "debug" | "info" | "warn" | "error";

export interface LogEvent {
  readonly level: LogLevel;
  readonly message: string;
}

export interface ServerLog {
  /** Takes the next piece of the server's output, not necessarily whole lines. */
  write(text: string): void;
  /** The last lines, for an error that says why the server stopped. */
  tail(): string;
}

const keptLines = 20;
const longestLine = 2_000;

/**
 * Forwards the server's output line by line, and retains the last lines. It writes no file, so no file can fill the
 * disk.
 */
export function createServerLog(log: (event: LogEvent) => void): ServerLog {
  const kept: string[] = [];
  let partial = "";
  return {
    write(text) {
      const lines = (partial + text).split("\n");
      partial = (lines.pop() ?? "").slice(0, longestLine);
      for (const line of lines) {
        if (line.trim() === "") continue;
        const message = line.slice(0, longestLine);
        kept.push(message);
        if (kept.length > keptLines) kept.shift();
        log({ level: levelOf(message), message: `postgres: ${message}` });
      }
    },
    tail: () => [...kept, partial].filter((line) => line !== "").join("\n"),
  };
}

/** `postmaster: LOG:  starting …`, after `log_line_prefix`; the first lines of a start may lack the prefix. */
const taggedLine = /^(?:([a-z -]+): )?(DEBUG\d?|INFO|NOTICE|LOG|HINT|CONTEXT|WARNING|ERROR|FATAL|PANIC):/;

/**
 * Returns the level of a line. Errors of clients are for the clients to report, and would only repeat here, once per
 * failed statement. Sessions that end at a shutdown ("due to administrator command") are not a failure either.
 */
export function levelOf(line: string): LogLevel {
  const [, process = "", severity = ""] = taggedLine.exec(line) ?? [];
  if (severity === "PANIC") return "error";
  if (process.endsWith("client backend") || line.endsWith("due to administrator command")) return "debug";
  if (severity === "FATAL") return "error";
  if (severity === "ERROR" || severity === "WARNING" || severity === "") return "warn";
  return "debug";
}
