/** Output: lines and tables for people, JSON for programs. Results go to standard output, errors to standard error. */

/** Writing to standard output failed. */
export class OutputError extends Error {
  /** The system's code, such as ENOSPC. */
  readonly code: string | undefined;

  constructor(cause: NodeJS.ErrnoException) {
    super(`Cannot write to standard output: ${cause.message}.`, { cause });
    this.name = "OutputError";
    this.code = cause.code;
  }
}

/** Whether the error means that the reader of the output has gone. */
export function isReaderGone(error: unknown): boolean {
  return error instanceof OutputError && error.code === "EPIPE";
}

/**
 * Escapes the control characters that a terminal would interpret. Records, agents and servers can contain any
 * characters. JSON and YAML with these escapes have the same meaning: both allow the raw characters only in quotes.
 */
export function escapeControls(text: string): string {
  return text.replaceAll(/[^\P{Cc}\t\n]/gu, escapeOf);
}

/** Escapes a line, including line breaks in it. */
function escapeLine(line: string): string {
  return escapeControls(line).replaceAll("\n", escapeOf);
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/**
 * Resolves when the text is written.
 *
 * @throws OutputError if writing fails
 */
export function writeText(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(escapeControls(text), (error) => {
      // null as well as undefined, contrary to the types
      if (error) reject(new OutputError(error));
      else resolve();
    });
  });
}

/** Writes the lines. See writeText. */
export function writeLines(lines: readonly string[]): Promise<void> {
  return writeText(textOf(lines));
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${escapeLine(line)}\n`).join("");
}

/** Writes the value as JSON. See writeText. */
export function writeJson(value: unknown): Promise<void> {
  return writeText(`${JSON.stringify(value, undefined, 2)}\n`);
}

/** Writes one JSON object on a line; nothing for undefined. See writeText. */
export async function writeJsonLine(value: object | undefined): Promise<void> {
  if (value !== undefined) await writeText(`${JSON.stringify(value)}\n`);
}

/** Writes to standard error. A failure to do so cannot be reported anywhere. */
export function writeError(text: string): void {
  process.stderr.write(escapeControls(text), () => {});
}

/** Writes lines to standard error. See writeError. */
export function writeErrorLines(lines: readonly string[]): void {
  writeError(textOf(lines));
}

/** Returns a table with aligned columns, separated by two spaces. */
export function tableLines(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)));
  return [head, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
