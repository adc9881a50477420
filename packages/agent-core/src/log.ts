/** One line for each event. Data goes into the fields. */
export type Log = (message: string, fields?: LogFields) => void;

export type LogFields = Readonly<Record<string, unknown>>;

/** Returns a log that writes each event as one line of printable ASCII. */
export function lineLog(write: (line: string) => void): Log {
  return (message, fields) => write(`${formatLogLine(message, fields).replace(/[^\x20-\x7e]+/g, " ")}\n`);
}

/** Writes to standard error, where the journal reads it. */
export const standardErrorLog: Log = lineLog((line) => void process.stderr.write(line));

/**
 * Formats an event as its message followed by `key=value` pairs. Values with spaces are quoted; undefined ones are left
 * out.
 */
export function formatLogLine(message: string, fields: LogFields = {}): string {
  const pairs = Object.entries(fields).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${formatValue(value)}`],
  );
  return [message, ...pairs].join(" ");
}

/** Returns the message of an error, or the text of anything else that was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function formatValue(value: unknown): string {
  const text = errorMessage(value);
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
}
