import { type DestinationStream, destination, type Logger, type LoggerOptions, pino } from "pino";

export type Log = Pick<Logger, "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent" | "child" | "level">;

export const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * JSON logs, on standard error: standard output is for what people read. Headers and bodies are never logged; the
 * redaction is a second fence, should someone try.
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
  // A log that cannot be written must not end the server; flushing at exit would try a full disk again for ever.
  target.on("error", () => {
    target.flushSync = () => undefined;
  });
  return target;
}

/** The parts of an error that tell something: others may hold a whole connection, as pg's do. */
function describeError(error: unknown): object | string {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack, cause } = error;
  const described = "code" in error ? { name, code: error.code, message, stack } : { name, message, stack };
  return cause === undefined ? described : { ...described, cause: describeError(cause) };
}
