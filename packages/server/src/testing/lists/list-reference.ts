/** A naive reference for lists, which examines every record as the API shows it. */
import { type FieldKind, type FilterOperator, type ListDeclaration, operatorsFor } from "@gatehouse/contract/list";

/** A record of a list. */
export interface Listed {
  readonly id: string;
}

export interface AskedFilter {
  readonly field: string;
  readonly operator: FilterOperator;
  readonly text: string;
}

export interface AskedSorting {
  readonly field: string;
  readonly descending: boolean;
}

/** The query of a list. */
export interface AskedList {
  readonly filters: readonly AskedFilter[];
  readonly sorting: readonly AskedSorting[];
  readonly limit: number;
  readonly offset: number;
}

/** Fields that every operator compares case-insensitively (decision 0009). */
const caselessFields: ReadonlySet<string> = new Set(["email", "user.email"]);

/** Every value of a record at a path such as `addresses.protocols.id`; empty if part of the path is missing. */
export function valuesAt(record: unknown, field: string): readonly (string | number | boolean)[] {
  let found: unknown[] = [record];
  for (const name of field.split(".")) {
    found = found.flatMap((value) => {
      const next = value !== null && typeof value === "object" ? (value as Record<string, unknown>)[name] : undefined; // an object
      return next === undefined || next === null ? [] : next;
    });
  }
  return found as (string | number | boolean)[]; // the type of fields that can be filtered and sorted
}

/** Lower case, code point by code point. */
function folded(text: string): string {
  return [...text]
    .map((character) => [character.toLowerCase(), character].find((form) => [...form].length === 1))
    .join("");
}

/** Compares by code point, like PostgreSQL's collation "C". */
function compareText(one: string, two: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(two));
}

function alike(value: string, pattern: string): boolean {
  const parts = folded(pattern)
    .split("%")
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "su").test(folded(value));
}

/** Compares a record's value with the text of a filter: equality and order. */
function comparison(
  field: string,
  { kind }: FieldKind,
): Readonly<Record<"same" | "order", (value: string, text: string) => number>> {
  const inOrder = (value: string, text: string) => compareText(folded(value), folded(text));
  switch (kind) {
    case "timestamp": {
      const inTime = (value: string, text: string) => Date.parse(value) - Date.parse(text);
      return { same: inTime, order: inTime };
    }
    case "integer": {
      const inNumbers = (value: string, text: string) => Number(value) - Number(text);
      return { same: inNumbers, order: inNumbers };
    }
    case "uuid":
      return { same: inOrder, order: inOrder };
    default:
      return { same: caselessFields.has(field) ? inOrder : compareText, order: inOrder };
  }
}

function meets(list: ListDeclaration, record: Listed, { field, operator, text }: AskedFilter): boolean {
  const kind = list.filter[field];
  if (kind === undefined || !operatorsFor(kind).includes(operator))
    throw new Error(`${operator} of ${field} is not a filter`);
  const { same, order } = comparison(field, kind);
  const values = valuesAt(record, field).map(String);
  const isOneOf = (texts: readonly string[]) => values.some((value) => texts.some((one) => same(value, one) === 0));
  const stands = (holds: (sign: number) => boolean) => values.some((value) => holds(order(value, text)));
  switch (operator) {
    case "eq":
      return isOneOf([text]);
    case "ne":
      return !isOneOf([text]);
    case "in":
      return isOneOf(text.split(","));
    case "nin":
      return !isOneOf(text.split(","));
    case "ilike":
      return values.some((value) => alike(value, text));
    case "gt":
      return stands((sign) => sign > 0);
    case "gte":
      return stands((sign) => sign >= 0);
    case "lt":
      return stands((sign) => sign < 0);
    case "lte":
      return stands((sign) => sign <= 0);
  }
}

/** Compares in ascending order; missing values come last. */
function compareAt(field: string, one: Listed, two: Listed): number {
  const [first] = valuesAt(one, field);
  const [second] = valuesAt(two, field);
  if (first === undefined || second === undefined) return Number(first === undefined) - Number(second === undefined);
  if (typeof first === "number") return first - Number(second);
  return compareText(folded(String(first)), folded(String(second)));
}

export interface ExpectedPage {
  readonly ids: readonly string[];
  readonly total: number;
  /** The id of the record before the page, or undefined. */
  readonly previous: string | undefined;
}

/** @param everything all records of the list, in any order */
export function expectedPage(list: ListDeclaration, everything: readonly Listed[], asked: AskedList): ExpectedPage {
  const matching = everything.filter((record) => asked.filters.every((filter) => meets(list, record, filter)));
  matching.sort((one, two) => {
    for (const { field, descending } of asked.sorting) {
      const order = compareAt(field, one, two);
      if (order !== 0) return descending ? -order : order;
    }
    // Audit entries are ordered by position before id.
    return compareAt("position", one, two) || compareText(one.id, two.id);
  });
  const page = matching.slice(asked.offset, asked.offset + asked.limit);
  return { ids: page.map(({ id }) => id), total: matching.length, previous: matching[asked.offset - 1]?.id };
}
