/** Rows as CSV and JSON files. */

/** The most rows of one file. */
export const maxExportedRows = 10_000;

type Cell = string | number | boolean;

/** RFC 4180, with a byte order mark so that spreadsheets read UTF-8. One column for each field of the records. */
export function csvOf(rows: readonly object[]): string {
  const cells = rows.map((row) => new Map(Object.entries(row).map(([field, value]) => [field, cellOf(value)])));
  const fields = [...new Set(cells.flatMap((row) => [...row.keys()]))];
  const lines = [fields, ...cells.map((row) => fields.map((field) => row.get(field) ?? ""))];
  return `\ufeff${lines.map((line) => `${line.map(quoted).join(",")}\r\n`).join("")}`;
}

/** Lists of records are reduced to names, and other structures to JSON. */
function cellOf(value: unknown): Cell {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) {
    const names = value.map(nameOf);
    return names.every((name) => name !== undefined) ? names.join("; ") : JSON.stringify(value);
  }
  return nameOf(value) ?? JSON.stringify(value);
}

function nameOf(value: unknown): string | undefined {
  if (typeof value === "string" || typeof value === "number") return String(value);
  if (typeof value !== "object" || value === null) return undefined;
  const { name, email, address, type } = value as Readonly<Record<string, unknown>>;
  return [name, email, address, type].find((text): text is string => typeof text === "string");
}

function quoted(cell: Cell): string {
  // A spreadsheet would evaluate such a text as a formula.
  const text = typeof cell === "string" && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function saveFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The download has started. Revoking the address at once would cancel it in some browsers.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
