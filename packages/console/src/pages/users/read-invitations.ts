import { t } from "../../messages/i18n.ts";
/** Parses pasted email addresses, or a CSV file with a column of them. */

export interface InvalidLine {
  /** Starts at 1. */
  readonly line: number;
  readonly text: string;
  readonly reason: string;
}

export interface Invitations {
  readonly emails: readonly string[];
  readonly invalid: readonly InvalidLine[];
}

const addressPattern = /^[^\s@,;"<>()]{1,64}@[^\s@,;"<>()]+\.[^\s@,;"<>().]+$/;

/** Accepts several addresses per line, separated by commas, semicolons or tabs. Ignores cells without an address. */
export function readInvitations(text: string): Invitations {
  const emails: string[] = [];
  const invalid: InvalidLine[] = [];
  const seen = new Set<string>();
  for (const [index, raw] of text.split(/\r\n|\r|\n/).entries()) {
    const cells = raw
      .split(/[,;\t]/)
      .map((cell) => plain(cell))
      .filter((cell) => cell !== "");
    const isHeading = index === 0 && !raw.includes("@") && cells.some((cell) => /^e-?mail/i.test(cell));
    if (cells.length === 0 || isHeading) continue;
    const report = (reason: string) => invalid.push({ line: index + 1, text: raw.trim().slice(0, 120), reason });
    const candidates = cells.filter((cell) => cell.includes("@"));
    if (candidates.length === 0) report(t("users.invite.problems.missing"));
    for (const email of candidates) {
      if (!addressPattern.test(email) || email.length > 254)
        report(t("users.invite.problems.invalid", { email: email.slice(0, 80) }));
      else if (seen.has(email.toLowerCase())) report(t("users.invite.problems.duplicate", { email }));
      else {
        seen.add(email.toLowerCase());
        emails.push(email);
      }
    }
  }
  return { emails, invalid };
}

/** Removes quotes, and takes the address out of `Name <address>`. */
function plain(cell: string): string {
  const bare = cell
    .trim()
    .replace(/^"(.*)"$/, "$1")
    .trim();
  return /<([^<>]+)>$/.exec(bare)?.[1]?.trim() ?? bare;
}
