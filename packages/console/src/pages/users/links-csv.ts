/** Enrolment links as CSV (RFC 4180). */

export interface LinkOfPerson {
  readonly email: string;
  readonly url: string;
  readonly code: string;
  readonly expiresAt: string;
}

export function csvOf(links: readonly LinkOfPerson[]): string {
  const rows = links.map(({ email, url, code, expiresAt }) => [email, url, code, expiresAt]);
  return [["email", "link", "code", "expires"], ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** Spreadsheets take text with these first characters for formulas. */
const formula = /^[=+\-@\t\r]/;

function cell(text: string): string {
  const safe = formula.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}
