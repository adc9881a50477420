/** Parses pasted email addresses and names, or a CSV file with columns of them. */
import { t } from "../../messages/i18n.ts";

export interface InvalidLine {
  /** Starts at 1. */
  readonly line: number;
  readonly text: string;
  readonly reason: string;
}

export interface Invitee {
  readonly email: string;
  /** Absent if unknown. */
  readonly firstName?: string;
  readonly lastName?: string;
}

export interface Invitations {
  readonly invitees: readonly Invitee[];
  readonly invalid: readonly InvalidLine[];
  /** Text beside an address that is not read as a name. */
  readonly ignored: readonly string[];
}

type Name = Pick<Invitee, "firstName" | "lastName">;
type ColumnKind = "email" | "first" | "last" | "full";

const addressPattern = /^[^\s@,;"<>()]{1,64}@[^\s@,;"<>()]+\.[^\s@,;"<>().]+$/;
/** A word of a name begins with a letter, and has no characters of codes, numbers or addresses. */
const namePattern = /^\p{L}[\p{L}\p{M}.'’-]*(?: \p{L}[\p{L}\p{M}.'’-]*)*$/u;
const mostNameLength = 120;

/**
 * Accepts several addresses per line, separated by commas, semicolons or tabs. Names stand before their address, as in
 * `Ann Example <ann@example.com>`, in other cells of a line with one address, or in columns under a heading.
 */
export function readInvitations(text: string): Invitations {
  const invitees: Invitee[] = [];
  const invalid: InvalidLine[] = [];
  const ignored: string[] = [];
  const seen = new Set<string>();
  let columns: readonly (ColumnKind | undefined)[] | undefined;
  for (const [index, raw] of text.split(/\r\n|\r|\n/).entries()) {
    const cells = cellsOf(raw);
    if (cells.every((cell) => cell === "")) continue;
    const heading = index === 0 && !raw.includes("@") ? cells.map(columnOf) : [];
    if (heading.includes("email")) {
      columns = heading;
      continue;
    }
    const report = (reason: string) => invalid.push({ line: index + 1, text: raw.trim().slice(0, 120), reason });
    const read = cells.map((cell) => (cell.includes("@") ? readCell(cell) : undefined));
    const named = columns === undefined ? nameBefore(cells, read) : new Map<number, string>();
    const candidates = read.flatMap((candidate, place) => {
      const before = named.get(place - 1);
      return candidate === undefined ? [] : [before === undefined ? candidate : { ...candidate, name: before }];
    });
    if (candidates.length === 0) report(t("users.invite.problems.missing"));
    const others = cells.filter((cell, place) => cell !== "" && !cell.includes("@") && !named.has(place));
    const name = candidates.length !== 1 ? undefined : columns === undefined ? nameIn(others) : nameBy(columns, cells);
    // A file with a heading has other columns on purpose.
    if (candidates.length > 0 && name === undefined && columns === undefined && others.length > 0) {
      ignored.push(
        ...others.map((cell) => t("users.invite.ignoredText", { line: index + 1, text: cell.slice(0, 80) })),
      );
    }
    for (const { address: email, ...own } of candidates) {
      if (!addressPattern.test(email) || email.length > 254)
        report(t("users.invite.problems.invalid", { email: email.slice(0, 80) }));
      else if (seen.has(email.toLowerCase())) report(t("users.invite.problems.duplicate", { email }));
      else {
        seen.add(email.toLowerCase());
        invitees.push({ email, ...(own.name === undefined ? name : splitName(own.name)) });
      }
    }
  }
  return { invitees, invalid, ignored };
}

/** Such as `Ann Example <ann@example.com>`, which `readInvitations` reads again. */
export function formatInvitee({ email, firstName = "", lastName = "" }: Invitee): string {
  const name = `${firstName} ${lastName}`.trim();
  return name === "" ? email : `${name} <${email}>`;
}

/** The cells of a line. Quotation marks keep separators, as in `"Example, Ann" <ann@example.com>`. */
function cellsOf(line: string): readonly string[] {
  const cells = line.match(/(?:"[^"]*"|[^,;\t"]|")+|(?<=^|[,;\t])(?=[,;\t]|$)/g) ?? [];
  return cells.map(unquoted);
}

function unquoted(text: string): string {
  return text
    .trim()
    .replace(/^"([^"]*)"$/, "$1")
    .trim();
}

interface Candidate {
  readonly address: string;
  readonly name?: string;
}

/**
 * The full names in cells of a line with several addresses, by their places. Every address without a name must have one
 * before it, and no other text may be left. Otherwise, the names may belong to the addresses before them.
 */
function nameBefore(cells: readonly string[], read: readonly (Candidate | undefined)[]): ReadonlyMap<number, string> {
  const none = new Map<number, string>();
  if (read.filter((candidate) => candidate !== undefined).length < 2) return none;
  const texts = cells.flatMap((cell, place) =>
    cell !== "" && read[place] === undefined ? [[place, cell] as const] : [],
  );
  const nameless = read.filter((candidate) => candidate !== undefined && candidate.name === undefined).length;
  const areNames = texts.every(([place, text]) => {
    const next = read[place + 1];
    return isFullName(text) && next !== undefined && next.name === undefined;
  });
  return areNames && texts.length === nameless ? new Map(texts) : none;
}

/** Whether a text is a name of two words or more. Only short particles, such as "van", begin with a small letter. */
function isFullName(text: string): boolean {
  if (!text.includes(" ") || text.length > mostNameLength || !namePattern.test(text)) return false;
  const words = text.split(" ");
  return words.every((word, place) => {
    const isInner = place > 0 && place < words.length - 1;
    return !/^\p{Ll}/u.test(word) || (isInner && word.length <= 3);
  });
}

/** Splits `Name <address>`, and `Name address` if the text before the address is a full name. */
function readCell(cell: string): Candidate {
  const [, plain = "", last] = /^([^<>"@]*\S) ([^\s<>]+@[^\s<>]+)$/.exec(cell) ?? [];
  if (last !== undefined && isFullName(plain)) return { address: last, name: plain };
  const [, before = "", address] = /^([^<>]*)<([^<>]+)>$/.exec(cell) ?? [];
  if (address === undefined) return { address: cell };
  const name = unquoted(before);
  return { address: address.trim(), ...(name === "" ? {} : { name }) };
}

function columnOf(title: string): ColumnKind | undefined {
  if (/^e-?mail/i.test(title)) return "email";
  if (/^(?:first|given)[ _-]?name$/i.test(title)) return "first";
  if (/^(?:last|family|sur)[ _-]?name$/i.test(title)) return "last";
  return /^(?:full[ _-]?)?name$/i.test(title) ? "full" : undefined;
}

/** The name in the columns of a file with a heading. */
function nameBy(columns: readonly (ColumnKind | undefined)[], cells: readonly string[]): Name {
  const cell = (kind: ColumnKind) => cells[columns.indexOf(kind)] ?? "";
  const full = splitName(cell("full"));
  const [first, last] = [cell("first"), cell("last")].map((part) => part.slice(0, mostNameLength));
  return {
    ...full,
    ...(first === undefined || first === "" ? {} : { firstName: first }),
    ...(last === undefined || last === "" ? {} : { lastName: last }),
  };
}

/** The name in the cells beside the only address of a line: one cell, or the first and the last name. */
function nameIn(cells: readonly string[]): Name | undefined {
  if (!cells.every((cell) => namePattern.test(cell) && cell.length <= mostNameLength)) return undefined;
  const [first, last, more] = cells;
  if (first === undefined || more !== undefined) return undefined;
  return last === undefined ? splitName(first) : { firstName: first, lastName: last };
}

/** Splits before the last word, or at the comma of "Example, Ann". */
function splitName(name: string): Name {
  const [, family, given] = /^([^,]+),\s*([^,]+)$/.exec(name) ?? [];
  const words = name.split(/\s+/);
  const [firstName = "", lastName = ""] =
    given === undefined ? (words.length === 1 ? words : [words.slice(0, -1).join(" "), words.at(-1)]) : [given, family];
  return {
    ...(firstName === "" ? {} : { firstName: firstName.trim().slice(0, mostNameLength) }),
    ...(lastName === "" ? {} : { lastName: lastName.trim().slice(0, mostNameLength) }),
  };
}
