/**
 * Makes the SQL of a paginated list from declared fragments. The text holds only what is declared here and in the queries
 * files, and checked numbers; every value travels as a parameter.
 */
import type { Page } from "@gatehouse/contract/list";
import type { Filter, ListQuery } from "../list-query.ts";
import { type Statement, unprepared } from "./statement.ts";

/** How a field of a list is found in the database. */
export interface ListColumn {
  /** The expression that filters compare. */
  readonly value: string;
  /** The expression that the field sorts by, and that `gt`, `gte`, `lt`, `lte` compare; `value` where absent. */
  readonly key?: string;
  /**
   * `value` is text in lower case, and is compared with filters without regard to case. It is the database that lowers
   * both: JavaScript and PostgreSQL do not agree on every letter.
   */
  readonly lowerCase?: true;
  /** For a field of related records: a condition that holds when one of them meets `predicate`. */
  readonly within?: (predicate: string) => string;
}

export interface ListSource {
  /** The table, whose rows the statement names `item`. */
  readonly table: string;
  /** One entry for each field that the list's declaration sorts or filters by. */
  readonly columns: Readonly<Record<string, ListColumn>>;
  /** What is selected of each row of the page. */
  readonly select: string;
  /** False for tables of the operator's, which belong to no tenant. */
  readonly inTenant?: boolean;
  /** The expression, unique in the tenant, that completes every order; `item.id` where absent. */
  readonly tieBreak?: string;
}

type ListParameters = readonly unknown[];

const casts: Record<Filter["kind"], string> = {
  text: "text",
  enum: "text",
  uuid: "uuid",
  boolean: "boolean",
  timestamp: "timestamptz",
  integer: "bigint",
};

const comparisons = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

function columnOf(source: ListSource, field: string): ListColumn {
  const column = source.columns[field];
  if (column === undefined) throw new Error(`the list of ${source.table} has no column for ${field}`);
  return column;
}

/** `%` stands for any text; nothing else is special. */
function likePattern(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("_", "\\_");
}

/** The condition of one filter; `next` takes a parameter and gives its placeholder. */
function condition(source: ListSource, filter: Filter, next: (value: unknown) => string): string {
  const column = columnOf(source, filter.field);
  const cast = casts[filter.kind];
  const [first = ""] = filter.values;
  const within = column.within ?? ((predicate: string) => predicate);
  const one = (value: string) => {
    const given = `${next(value)}::${cast}`;
    return `${column.value} = ${column.lowerCase ? `lower(${given})` : given}`;
  };
  const several = (values: readonly string[]) => {
    const given = `${next(values)}::${cast}[]`;
    const compared = column.lowerCase ? `ARRAY (SELECT lower(given) FROM unnest(${given}) AS given)` : given;
    return `${column.value} = ANY (${compared})`;
  };
  switch (filter.operator) {
    case "eq":
      return within(one(first));
    // Not null-safe by themselves: an absent value is different from any given one.
    case "ne":
      return `NOT coalesce(${within(one(first))}, false)`;
    case "in":
      return within(several(filter.values));
    case "nin":
      return `NOT coalesce(${within(several(filter.values))}, false)`;
    case "ilike":
      return column.lowerCase
        ? within(`${column.value} LIKE lower(${next(likePattern(first))}::text)`)
        : within(`${column.value} ILIKE ${next(likePattern(first))}::text`);
    case "gt":
    case "gte":
    case "lt":
    case "lte": {
      const sign = comparisons[filter.operator];
      if (cast !== "text") return within(`${column.value} ${sign} ${next(first)}::${cast}`);
      // Text compares as it sorts: without regard to case, by code point, whatever the database's own collation is.
      const key = column.key ?? `lower(${column.value}) COLLATE "C"`;
      return within(`${key} ${sign} lower(${next(first)}::text)`);
    }
  }
}

function whereOf(source: ListSource, filters: readonly Filter[], parameters: unknown[]): string {
  const next = (value: unknown) => `$${parameters.push(value)}`;
  const conditions = filters.map((filter) => condition(source, filter, next));
  if (source.inTenant !== false) conditions.unshift("item.tenant_id = current_tenant()");
  return conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
}

function orderOf(source: ListSource, query: ListQuery): string {
  const terms = query.sort.map(({ field, descending }) => {
    const column = columnOf(source, field);
    return `${column.key ?? column.value} ${descending ? "DESC" : "ASC"}`;
  });
  const tieBreak = source.tieBreak ?? "item.id";
  const complete = query.sort.some(({ field }) => field === "id" || columnOf(source, field).value === tieBreak);
  if (!complete) terms.push(`${tieBreak} ASC`);
  return `ORDER BY ${terms.join(", ")}`;
}

export interface ListStatement<Row> {
  readonly statement: Statement<Row, ListParameters>;
  readonly parameters: ListParameters;
}

/** The rows of the page. The page is cut out first, so that what is selected of its rows is computed for them alone. */
export function pageStatement<Row>(source: ListSource, query: ListQuery): ListStatement<Row> {
  const parameters: unknown[] = [];
  const where = whereOf(source, query.filters, parameters);
  const order = orderOf(source, query);
  const page = `SELECT item.* FROM ${source.table} AS item ${where} ${order} LIMIT ${query.limit} OFFSET ${query.offset}`;
  return { statement: unprepared(`SELECT ${source.select} FROM (${page}) AS item ${order}`), parameters };
}

/**
 * The filters of a list as a condition of another statement, of a row named `item`.
 *
 * @param parameters what the statement takes already; the filters' values are added
 * @returns `true` where there is no filter
 */
export function filterCondition(source: ListSource, filters: readonly Filter[], parameters: unknown[]): string {
  const conditions = filters.map((filter) => condition(source, filter, (value) => `$${parameters.push(value)}`));
  return conditions.length === 0 ? "true" : conditions.join(" AND ");
}

/** How many rows match, on all pages together. */
export function countStatement(source: ListSource, query: ListQuery): ListStatement<{ count: number }> {
  const parameters: unknown[] = [];
  const where = whereOf(source, query.filters, parameters);
  return { statement: unprepared(`SELECT count(*) AS count FROM ${source.table} AS item ${where}`), parameters };
}

/** Wraps a page's items as the API answers them. */
export function pageOfItems<T>(query: ListQuery, data: readonly T[], total: number): Page<T> {
  return {
    data,
    total,
    page: Math.floor(query.offset / query.limit),
    limit: query.limit,
    hasNext: query.offset + data.length < total,
    hasPrevious: query.offset > 0,
  };
}
