/** Writing: lines and tables for people, JSON for programs; results on standard output, what is wrong on standard error. */

/** Standard output does not take what is written to it. */
export class OutputError extends Error {
  /** The system's code, such as ENOSPC. */
  readonly code: string | undefined;

  constructor(cause: NodeJS.ErrnoException) {
    super(`Standard output cannot be written: ${cause.message}.`, { cause });
    this.name = "OutputError";
    this.code = cause.code;
  }
}

/** Whether this says that nobody reads the output any more. */
export function isReaderGone(error: unknown): boolean {
  return error instanceof OutputError && error.code === "EPIPE";
}

/**
 * Ends once the text is written.
 *
 * @throws OutputError when it cannot be
 */
export function writeText(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => {
      // null as well as undefined, whatever the types say
      if (error) reject(new OutputError(error));
      else resolve();
    });
  });
}

/** As writeText. */
export function writeLines(lines: readonly string[]): Promise<void> {
  return writeText(lines.map((line) => `${line}\n`).join(""));
}

/** As writeText. */
export function writeJson(value: unknown): Promise<void> {
  return writeText(`${JSON.stringify(value, undefined, 2)}\n`);
}

/** One object of several that a program reads line by line; nothing for undefined. As writeText. */
export async function writeJsonLine(value: object | undefined): Promise<void> {
  if (value !== undefined) await writeText(`${JSON.stringify(value)}\n`);
}

/** Says what is wrong. When not even that can be written, there is nobody left to tell. */
export function writeError(text: string): void {
  process.stderr.write(text, () => {});
}

/** @returns a table with its columns in line; two spaces between them */
export function tableLines(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)));
  return [head, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
