/** Parses the sorting, filters and paging of a list against its declaration. Pure. */
import {
  defaultPageLimit,
  type FieldKind,
  type FilterOperator,
  filterOperators,
  type ListDeclaration,
  maxFilterValues,
  maxPageLimit,
  maxPageOffset,
  operatorsFor,
} from "@gatehouse/contract/list";
import { isUuid } from "./ids.ts";
import { canonicalTimestamp } from "./timestamps.ts";

/** The most filters in one request, since each can be its own search. */
const maxFilters = 50;

export interface Sorting {
  readonly field: string;
  readonly descending: boolean;
}

export interface Filter {
  readonly field: string;
  readonly kind: FieldKind["kind"];
  readonly operator: FilterOperator;
  /** One value; one or more for `in` and `nin`. */
  readonly values: readonly string[];
}

export interface ListQuery {
  readonly limit: number;
  readonly offset: number;
  /** The id of the record that the page follows in the list's order. The offset is then 0. */
  readonly after?: string;
  readonly sort: readonly Sorting[];
  readonly filters: readonly Filter[];
}

export type QueryParameters = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The problem of a query parameter. */
export interface ParameterProblem {
  readonly parameter: string;
  readonly message: string;
}

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: ParameterProblem };

const fine = <T>(value: T): Parsed<T> => ({ ok: true, value });
const wrong = (parameter: string, message: string): Parsed<never> => ({ ok: false, problem: { parameter, message } });

/** The value as shown in error messages. */
const shown = (value: string) => JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);

export function parseListQuery(declaration: ListDeclaration, parameters: QueryParameters): Parsed<ListQuery> {
  const filters: Filter[] = [];
  for (const [name, given] of Object.entries(parameters)) {
    if (given === undefined || paging.has(name) || name === "sort" || name === "page[after]") continue;
    const target = /^filter\[([^[\]]+)\](?:\[([^[\]]+)\])?$/.exec(name);
    if (target === null) return wrong(name, unknownParameter(declaration));
    for (const text of valuesOf(given)) {
      const filter = parseFilter(declaration, name, target[1] ?? "", target[2] ?? "eq", text);
      if (!filter.ok) return filter;
      if (filters.push(filter.value) > maxFilters) return wrong(name, `exceeds the limit of ${maxFilters} filters`);
    }
  }
  const sort = parseSort(declaration, valuesOf(parameters.sort));
  if (!sort.ok) return sort;
  const limit = parsePaging(parameters, "limit", 1, defaultPageLimit);
  if (!limit.ok) return limit;
  const used = Math.min(limit.value, maxPageLimit);
  const offset = parseOffset(parameters, used);
  if (!offset.ok) return offset;
  const after = parseAfter(declaration, parameters);
  return after.ok ? fine({ limit: used, offset: offset.value, ...after.value, sort: sort.value, filters }) : after;
}

/** The record that the page follows. It replaces an offset. */
function parseAfter(declaration: ListDeclaration, parameters: QueryParameters): Parsed<{ readonly after?: string }> {
  const given = parameters["page[after]"];
  if (given === undefined) return fine({});
  if (declaration.sort.length === 0) return wrong("page[after]", "is not available for this list, which has no order");
  const [id, ...others] = valuesOf(given);
  if (id === undefined || others.length > 0) return wrong("page[after]", "must be given once");
  if (!isUuid(id)) return wrong("page[after]", `must be the id of a record of the list, not ${shown(id)}`);
  const other = ["page", "offset", "page[offset]"].find((name) => parameters[name] !== undefined);
  return other === undefined ? fine({ after: id }) : wrong("page[after]", `cannot be combined with ${other}`);
}

/** The part of a list that is an array. */
export interface ArrayCut {
  /** Undefined for all remaining items. */
  readonly limit: number | undefined;
  readonly offset: number;
}

/** The names of the parameters that select a part of a list. */
export const paging: ReadonlySet<string> = new Set(["limit", "offset", "page", "page[limit]", "page[offset]"]);

/**
 * Parses the part of an array to return. `page` counts pages of `limit` items.
 *
 * @returns undefined as the value if the parameters select no part
 */
export function parseArrayCut(parameters: QueryParameters): Parsed<ArrayCut | undefined> {
  if (!Object.keys(parameters).some((name) => paging.has(name))) return fine(undefined);
  const isLimited = parameters.limit !== undefined || parameters["page[limit]"] !== undefined;
  const limit = parsePaging(parameters, "limit", 1, defaultPageLimit);
  if (!limit.ok) return limit;
  const offset = parseOffset(parameters, limit.value);
  if (!offset.ok) return offset;
  const used = isLimited || parameters.page !== undefined ? limit.value : undefined;
  return fine({ limit: used, offset: offset.value });
}

/** The number of items to skip, from `offset` or from `page`, which must agree: page is floor(offset / limit). */
function parseOffset(parameters: QueryParameters, limit: number): Parsed<number> {
  const offset = parsePaging(parameters, "offset", 0, 0);
  if (!offset.ok) return offset;
  let skipped = offset.value;
  if (parameters.page !== undefined) {
    const page = parsePaging(parameters, "page", 0, 0);
    if (!page.ok) return page;
    if (parameters.offset === undefined && parameters["page[offset]"] === undefined) skipped = page.value * limit;
    else if (Math.floor(skipped / limit) !== page.value) {
      return wrong("page", `contradicts offset: offset ${skipped} is on page ${Math.floor(skipped / limit)}`);
    }
  }
  return skipped > maxPageOffset ? wrong("offset", `exceeds the limit of ${maxPageOffset}`) : fine(skipped);
}

function valuesOf(given: string | readonly string[] | undefined): readonly string[] {
  if (given === undefined) return [];
  return typeof given === "string" ? [given] : given;
}

function unknownParameter(declaration: ListDeclaration): string {
  const fields = Object.keys(declaration.filter).join(", ");
  return `is not a parameter of this list. Parameters: limit, offset, page, page[limit], page[offset], page[after], sort, and filter[…] with ${fields}`;
}

function parsePaging(
  parameters: QueryParameters,
  name: "limit" | "offset" | "page",
  minimum: number,
  otherwise: number,
): Parsed<number> {
  const given = [...valuesOf(parameters[name]), ...(name === "page" ? [] : valuesOf(parameters[`page[${name}]`]))];
  const numbers = new Set<number>();
  for (const text of given) {
    if (!/^[+-]?\d{1,15}$/.test(text)) return wrong(name, `must be an integer, not ${shown(text)}`);
    const number = Number(text);
    if (number < minimum) return wrong(name, `must be at least ${minimum}, not ${number}`);
    numbers.add(number);
  }
  if (numbers.size > 1) return wrong(name, `is given twice with different values: ${given.join(" and ")}`);
  return fine([...numbers][0] ?? otherwise);
}

function parseSort(declaration: ListDeclaration, given: readonly string[]): Parsed<readonly Sorting[]> {
  const sort: Sorting[] = [];
  for (const text of given.flatMap((list) => list.split(","))) {
    const parts = /^(-?)([^:-][^:]*)(?::(asc|desc))?$/.exec(text.trim());
    const [, minus, field, direction] = parts ?? [];
    if (field === undefined || (minus === "-" && direction !== undefined)) {
      return wrong("sort", `must be field, -field, field:asc or field:desc, not ${shown(text)}`);
    }
    if (!declaration.sort.includes(field)) {
      return wrong("sort", `cannot sort by ${shown(field)}. Sortable fields: ${declaration.sort.join(", ")}`);
    }
    if (!sort.some((earlier) => earlier.field === field)) {
      sort.push({ field, descending: minus === "-" || direction === "desc" });
    }
  }
  return fine(sort);
}

function isOperator(text: string): text is FilterOperator {
  return filterOperators.some((operator) => operator === text);
}

function parseFilter(
  declaration: ListDeclaration,
  name: string,
  field: string,
  operator: string,
  text: string,
): Parsed<Filter> {
  const kind = Object.hasOwn(declaration.filter, field) ? declaration.filter[field] : undefined;
  if (kind === undefined) {
    const fields = Object.keys(declaration.filter).join(", ");
    return wrong(name, `cannot filter by ${shown(field)}. Filterable fields: ${fields}`);
  }
  const allowed = operatorsFor(kind);
  if (!isOperator(operator) || !allowed.includes(operator)) {
    return wrong(name, `${shown(operator)} is not an operator for ${field}. Operators: ${allowed.join(", ")}`);
  }
  const values = operator === "in" || operator === "nin" ? text.split(",") : [text];
  if (values.length > maxFilterValues) return wrong(name, `can have at most ${maxFilterValues} values`);
  for (const value of values) {
    const problem = operator === "ilike" ? textProblem(value) : valueProblem(kind, value);
    if (problem !== undefined) return wrong(name, `${problem}, not ${shown(value)}`);
  }
  const canonical = kind.kind === "timestamp" ? values.map((value) => canonicalTimestamp(value) ?? value) : values;
  return fine({ field, kind: kind.kind, operator, values: canonical });
}

function textProblem(value: string): string | undefined {
  return value.length > 1000 || value.includes("\0") ? "must be text of at most 1,000 characters" : undefined;
}

function valueProblem(kind: FieldKind, value: string): string | undefined {
  switch (kind.kind) {
    case "text":
      return textProblem(value);
    case "uuid":
      return isUuid(value) ? undefined : "must be a UUID";
    case "boolean":
      return value === "true" || value === "false" ? undefined : "must be true or false";
    case "enum":
      return kind.values.includes(value) ? undefined : `must be one of ${kind.values.join(", ")}`;
    case "integer":
      return /^\d{1,15}$/.test(value) ? undefined : "must be an integer";
    case "timestamp":
      return canonicalTimestamp(value) !== undefined
        ? undefined
        : "must be a time in ISO 8601, such as 2026-01-31T12:00:00.000Z";
  }
}
