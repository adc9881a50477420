/** Parses pasted email addresses, or a CSV file with a column of them. */
import { t } from "../../messages/i18n.ts";

export interface InvalidLine {
  /** Starts at 1. */
  readonly line: number;
  readonly text: string;
  readonly reason: string;
}

export interface Invitations {
  readonly emails: readonly string[];
  readonly invalid: readonly InvalidLine[];
  /** Other text on lines with an address, such as names. A CSV file with a heading has such columns on purpose. */
  readonly ignored: readonly string[];
}

const addressPattern = /^[^\s@,;"<>()]{1,64}@[^\s@,;"<>()]+\.[^\s@,;"<>().]+$/;

/** Accepts several addresses per line, separated by commas, semicolons or tabs. Ignores cells without an address. */
export function readInvitations(text: string): Invitations {
  const emails: string[] = [];
  const invalid: InvalidLine[] = [];
  const ignored: string[] = [];
  const seen = new Set<string>();
  let hasHeading = false;
  for (const [index, raw] of text.split(/\r\n|\r|\n/).entries()) {
    const cells = raw
      .split(/[,;\t]/)
      .map((cell) => unquoted(cell))
      .filter((cell) => cell !== "");
    const isHeading = index === 0 && !raw.includes("@") && cells.some((cell) => /^e-?mail/i.test(cell));
    hasHeading ||= isHeading;
    if (cells.length === 0 || isHeading) continue;
    const report = (reason: string) => invalid.push({ line: index + 1, text: raw.trim().slice(0, 120), reason });
    const candidates = cells.filter((cell) => cell.includes("@"));
    if (candidates.length === 0) report(t("users.invite.problems.missing"));
    else if (!hasHeading) {
      const others = [
        ...cells.filter((cell) => !cell.includes("@")),
        ...candidates.flatMap((cell) => readCell(cell).name ?? []),
      ];
      ignored.push(
        ...others.map((cell) => t("users.invite.ignoredText", { line: index + 1, text: cell.slice(0, 80) })),
      );
    }
    for (const email of candidates.map((cell) => readCell(cell).address)) {
      if (!addressPattern.test(email) || email.length > 254)
        report(t("users.invite.problems.invalid", { email: email.slice(0, 80) }));
      else if (seen.has(email.toLowerCase())) report(t("users.invite.problems.duplicate", { email }));
      else {
        seen.add(email.toLowerCase());
        emails.push(email);
      }
    }
  }
  return { emails, invalid, ignored };
}

function unquoted(text: string): string {
  return text
    .trim()
    .replace(/^"(.*)"$/, "$1")
    .trim();
}

/** Splits `Name <address>`. */
function readCell(cell: string): { readonly address: string; readonly name?: string } {
  const [, before = "", address] = /^([^<>]*)<([^<>]+)>$/.exec(cell) ?? [];
  if (address === undefined) return { address: cell };
  const name = unquoted(before);
  return { address: address.trim(), ...(name === "" ? {} : { name }) };
}
