/** Generates list queries from the declarations of lists and the existing values. */
import { type FieldKind, type FilterOperator, type ListDeclaration, operatorsFor } from "@gatehouse/contract/list";
import fc from "fast-check";
import { type AskedFilter, type AskedList, type Listed, valuesAt } from "./list-reference.ts";

export interface Question extends AskedList {
  /** Whether the page parameters are written with brackets. */
  readonly bracketed: boolean;
  /** Whether the page is requested by the record before it, if there is one. */
  readonly isAfter: boolean;
}

const someText = fc.oneof(
  fc.constantFrom("", "a", "A", "é", "%", "_", "\\", "alpha", "ALPH", "zz", "一", "🔒", "null", "0"),
  fc.string({ unit: fc.constantFrom("a", "B", "%", "_", "\\", "é", "x", " ", "'"), maxLength: 8 }),
);

/** An existing text, unchanged or slightly changed. */
function textLike(there: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 4, arbitrary: there },
    { weight: 1, arbitrary: there.map((text) => text.toLowerCase()) },
    { weight: 1, arbitrary: there.map((text) => text.toUpperCase()) },
    { weight: 1, arbitrary: there.map((text) => [...text].slice(0, 3).join("")) },
    { weight: 2, arbitrary: someText },
  );
}

function patternLike(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof(
    text,
    text.map((part) => `%${part}%`),
    text.map((part) => `${part}%`),
    text.map((part) => `%${[...part].slice(1).join("")}`),
    text.map((part) => `${[...part].slice(0, 1).join("")}%${[...part].slice(-1).join("")}`),
  );
}

/** An existing time or one close to it, in UTC or another zone. */
function timeLike(there: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(there, fc.constantFrom(-1, 0, 0, 1, 1000), fc.boolean()).map(([time, aside, elsewhere]) => {
    const moment = Date.parse(time) + aside;
    const hourMs = 3_600_000;
    return elsewhere
      ? new Date(moment + 2 * hourMs).toISOString().replace("Z", "+02:00")
      : new Date(moment).toISOString();
  });
}

function oneValue(kind: FieldKind, operator: FilterOperator, there: fc.Arbitrary<string>): fc.Arbitrary<string> {
  if (operator === "ilike") return patternLike(textLike(there));
  switch (kind.kind) {
    case "text":
      return textLike(there);
    case "uuid":
      return fc.oneof(
        { weight: 5, arbitrary: there },
        { weight: 1, arbitrary: there.map((id) => id.toUpperCase()) },
        { weight: 1, arbitrary: fc.uuid() },
      );
    case "timestamp":
      return timeLike(there);
    case "integer":
      return fc
        .tuple(there, fc.constantFrom(-1, 0, 0, 1))
        .map(([number, aside]) => String(Math.max(0, Number(number) + aside)));
    case "boolean":
      return fc.constantFrom("true", "false");
    case "enum":
      return fc.constantFrom(...kind.values);
  }
}

function filterOf(list: ListDeclaration, everything: readonly Listed[]): fc.Arbitrary<AskedFilter> {
  const kinds = Object.entries(list.filter).map(([field, kind]) => {
    const values = [...new Set(everything.flatMap((record) => valuesAt(record, field).map(String)))];
    const otherwise = {
      uuid: "01980000-0000-7000-8000-000000000000",
      timestamp: "2026-01-31T12:00:00.000Z",
      integer: "7",
      text: "nothing",
      boolean: "true",
      enum: "nothing",
    };
    return { field, kind, there: fc.constantFrom(...(values.length === 0 ? [otherwise[kind.kind]] : values)) };
  });
  return fc
    .constantFrom(...kinds)
    .chain((known) => fc.tuple(fc.constant(known), fc.constantFrom(...operatorsFor(known.kind))))
    .chain(([{ field, kind, there }, operator]) => {
      const one = oneValue(kind, operator, there);
      const text =
        operator === "in" || operator === "nin"
          ? fc.array(one, { minLength: 1, maxLength: 5 }).map((values) => values.join(","))
          : one;
      return text.map((value) => ({ field, operator, text: value }));
    });
}

/** @param everything the list's records, whose values the filters use */
export function questionsOf(list: ListDeclaration, everything: readonly Listed[]): fc.Arbitrary<Question> {
  return fc.record({
    filters: fc.oneof(
      { weight: 4, arbitrary: fc.array(filterOf(list, everything), { maxLength: 2 }) },
      { weight: 1, arbitrary: fc.array(filterOf(list, everything), { minLength: 3, maxLength: 4 }) },
    ),
    sorting: fc.uniqueArray(fc.record({ field: fc.constantFrom(...list.sort), descending: fc.boolean() }), {
      maxLength: 3,
      selector: ({ field }) => field,
    }),
    limit: fc.integer({ min: 1, max: 100 }),
    offset: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: everything.length + 5 })),
    isAfter: fc.boolean(),
    bracketed: fc.boolean(),
  });
}

/**
 * The query of a request for the list.
 *
 * @param after the id of the record before the page; undefined to request it by its offset
 */
export function queryOf({ filters, sorting, limit, offset, bracketed }: Question, after?: string): string {
  const parameters = new URLSearchParams();
  for (const { field, operator, text } of filters) {
    parameters.append(operator === "eq" && bracketed ? `filter[${field}]` : `filter[${field}][${operator}]`, text);
  }
  const spelled = sorting.map(({ field, descending }) => {
    if (bracketed) return descending ? `-${field}` : field;
    return `${field}:${descending ? "desc" : "asc"}`;
  });
  if (bracketed) for (const text of spelled) parameters.append("sort", text);
  else if (spelled.length > 0) parameters.append("sort", spelled.join(","));
  parameters.append(bracketed ? "page[limit]" : "limit", String(limit));
  if (after === undefined) parameters.append(bracketed ? "page[offset]" : "offset", String(offset));
  else parameters.append("page[after]", after);
  return parameters.toString();
}
