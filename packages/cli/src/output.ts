/** Writing to standard output: lines and tables for people, JSON for programs. */

export function writeLines(lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
}

export function writeJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}

/** One object of several that a program reads line by line; nothing for undefined. */
export function writeJsonLine(value: object | undefined): void {
  if (value !== undefined) process.stdout.write(`${JSON.stringify(value)}\n`);
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
