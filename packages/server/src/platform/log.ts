import { type DestinationStream, destination, type Logger, type LoggerOptions, pino } from "pino";

export type Log = Pick<Logger, "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent" | "child" | "level">;

export const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Creates a JSON log on standard error; standard output is for people. Headers and bodies are never logged. The
 * redaction is a second safeguard.
 */
export function createLog(level: LogLevel, target: DestinationStream = standardError()): Logger {
  const settings: LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError },
    redact: {
      paths: ["*.apikey", "*.authorization", "*.token", "*.key", "*.password", "apikey", "token", "key", "headers"],
      censor: "<redacted>",
    },
  };
  return pino(settings, target);
}

function standardError(): DestinationStream {
  const target = destination(2);
  // A log that cannot be written must not stop the server. Flushing at exit would retry a full disk forever.
  target.on("error", () => {
    target.flushSync = () => undefined;
  });
  return target;
}

/** The informative parts of an error. Others can contain whole connections, as in errors of pg. */
function describeError(error: unknown): object | string {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack, cause } = error;
  const described = "code" in error ? { name, code: error.code, message, stack } : { name, message, stack };
  return cause === undefined ? described : { ...described, cause: describeError(cause) };
}
