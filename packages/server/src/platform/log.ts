import { type Logger, pino } from "pino";

export type Log = Pick<Logger, "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent" | "child" | "level">;

export const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** JSON logs. Headers and bodies are never logged; the redaction is a second fence, should someone try. */
export function createLog(level: LogLevel): Logger {
  return pino({
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: ["*.apikey", "*.authorization", "*.token", "*.key", "*.password", "apikey", "token", "key", "headers"],
      censor: "<redacted>",
    },
  });
}
