/** Reads pasted e-mail addresses, or a CSV file with a column of them. */

export interface BadLine {
  /** From 1. */
  readonly line: number;
  readonly text: string;
  readonly reason: string;
}

export interface Invitations {
  readonly emails: readonly string[];
  readonly bad: readonly BadLine[];
}

const addressForm = /^[^\s@,;"<>()]{1,64}@[^\s@,;"<>()]+\.[^\s@,;"<>().]+$/;

/** One address a line, or several apart by commas, semicolons or tabs; of each cell with other text, nothing is taken. */
export function readInvitations(text: string): Invitations {
  const emails: string[] = [];
  const bad: BadLine[] = [];
  const seen = new Set<string>();
  for (const [index, raw] of text.split(/\r\n|\r|\n/).entries()) {
    const cells = raw
      .split(/[,;\t]/)
      .map((cell) => plain(cell))
      .filter((cell) => cell !== "");
    const isHeading = index === 0 && !raw.includes("@") && cells.some((cell) => /^e-?mail/i.test(cell));
    if (cells.length === 0 || isHeading) continue;
    const say = (reason: string) => bad.push({ line: index + 1, text: raw.trim().slice(0, 120), reason });
    const candidates = cells.filter((cell) => cell.includes("@"));
    if (candidates.length === 0) say("holds no e-mail address");
    for (const email of candidates) {
      if (!addressForm.test(email) || email.length > 254) say(`${email.slice(0, 80)} is no e-mail address`);
      else if (seen.has(email.toLowerCase())) say(`${email} stands further up already`);
      else {
        seen.add(email.toLowerCase());
        emails.push(email);
      }
    }
  }
  return { emails, bad };
}

/** Without quotes, and out of `Name <address>`. */
function plain(cell: string): string {
  const bare = cell
    .trim()
    .replace(/^"(.*)"$/, "$1")
    .trim();
  return /<([^<>]+)>$/.exec(bare)?.[1]?.trim() ?? bare;
}
