/** Reads `sort`, `filter[…]`, `limit`, `offset` of a paginated list against its declaration. Pure. */
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

/** Filters that one request combines at most: each may be a search of its own. */
const maximumFilters = 50;

export interface Sorting {
  readonly field: string;
  readonly descending: boolean;
}

export interface Filter {
  readonly field: string;
  readonly kind: FieldKind["kind"];
  readonly operator: FilterOperator;
  /** One value; for `in` and `nin`, one or more. */
  readonly values: readonly string[];
}

export interface ListQuery {
  readonly limit: number;
  readonly offset: number;
  readonly sort: readonly Sorting[];
  readonly filters: readonly Filter[];
}

export type QueryParameters = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What is wrong with a query parameter. */
export interface ParameterProblem {
  readonly parameter: string;
  readonly message: string;
}

type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: ParameterProblem };

const fine = <T>(value: T): Parsed<T> => ({ ok: true, value });
const wrong = (parameter: string, message: string): Parsed<never> => ({ ok: false, problem: { parameter, message } });

/** A value as error messages show it. */
const shown = (value: string) => JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);

export function parseListQuery(declaration: ListDeclaration, parameters: QueryParameters): Parsed<ListQuery> {
  const filters: Filter[] = [];
  for (const [name, given] of Object.entries(parameters)) {
    if (given === undefined || paging.has(name) || name === "sort") continue;
    const target = /^filter\[([^[\]]+)\](?:\[([^[\]]+)\])?$/.exec(name);
    if (target === null) return wrong(name, unknownParameter(declaration));
    for (const text of valuesOf(given)) {
      const filter = parseFilter(declaration, name, target[1] ?? "", target[2] ?? "eq", text);
      if (!filter.ok) return filter;
      if (filters.push(filter.value) > maximumFilters) return wrong(name, `is one filter more than ${maximumFilters}`);
    }
  }
  const sort = parseSort(declaration, valuesOf(parameters.sort));
  if (!sort.ok) return sort;
  const limit = parsePaging(parameters, "limit", 1, defaultPageLimit);
  if (!limit.ok) return limit;
  const offset = parsePaging(parameters, "offset", 0, 0);
  if (!offset.ok) return offset;
  if (offset.value > maxPageOffset) return wrong("offset", `is over ${maxPageOffset}`);
  return fine({ limit: Math.min(limit.value, maxPageLimit), offset: offset.value, sort: sort.value, filters });
}

const paging = new Set(["limit", "offset", "page[limit]", "page[offset]"]);

function valuesOf(given: string | readonly string[] | undefined): readonly string[] {
  if (given === undefined) return [];
  return typeof given === "string" ? [given] : given;
}

function unknownParameter(declaration: ListDeclaration): string {
  const fields = Object.keys(declaration.filter).join(", ");
  return `is not a parameter of this list. It takes limit, offset, page[limit], page[offset], sort, and filter[…] with ${fields}`;
}

function parsePaging(
  parameters: QueryParameters,
  name: "limit" | "offset",
  minimum: number,
  otherwise: number,
): Parsed<number> {
  const given = [...valuesOf(parameters[name]), ...valuesOf(parameters[`page[${name}]`])];
  const numbers = new Set<number>();
  for (const text of given) {
    if (!/^[+-]?\d{1,15}$/.test(text)) return wrong(name, `must be a whole number, not ${shown(text)}`);
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
    return wrong(name, `${shown(operator)} is no operator for ${field}. Operators: ${allowed.join(", ")}`);
  }
  const values = operator === "in" || operator === "nin" ? text.split(",") : [text];
  if (values.length > maxFilterValues) return wrong(name, `takes ${maxFilterValues} values at most`);
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
      return /^\d{1,15}$/.test(value) ? undefined : "must be a whole number";
    case "timestamp":
      return canonicalTimestamp(value) !== undefined
        ? undefined
        : "must be a time in ISO 8601, such as 2026-01-31T12:00:00.000Z";
  }
}
