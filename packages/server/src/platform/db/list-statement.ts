/**
 * Builds the SQL of a paginated list from declared fragments. The text contains only fragments declared here and in the
 * queries files, and validated numbers. Every value is a parameter.
 */
import type { Page } from "@gatehouse/contract/list";
import type { Filter, ListQuery } from "../list-query.ts";
import { type Statement, statement, unprepared } from "./statement.ts";

/** The SQL expressions of a field of a list. */
export interface ListColumn {
  /** The expression that filters compare. */
  readonly value: string;
  /**
   * The expression for sorting and for `gt`, `gte`, `lt` and `lte`. Defaults to `value`. For text, the key is the
   * lower-case value in code point order. If `nullable`, it is NULL for empty text.
   */
  readonly key?: string;
  /**
   * `value` is lower-case text, and filters compare it case-insensitively. The database converts both sides to lower
   * case, because JavaScript and PostgreSQL disagree about some letters.
   */
  readonly lowerCase?: true;
  /** Records can lack a value. They come last in ascending order. Only for fields that lists are sorted by. */
  readonly nullable?: true;
  /** The condition that at least one related record meets `predicate`. Only for fields of related records. */
  readonly within?: (predicate: string) => string;
}

export interface ListSource {
  /** The table. The statement names its rows `item`. */
  readonly table: string;
  /** One entry for each field that the list's declaration allows for sorting or filtering. */
  readonly columns: Readonly<Record<string, ListColumn>>;
  /** Distinguishes the sources of one table that select different columns. */
  readonly variant?: string;
  /** The columns to select from each row of the page. */
  readonly select: string;
  /** False for tables of the operator, which belong to no tenant. */
  readonly inTenant?: boolean;
  /** The expression, unique in the tenant, that completes every order. Defaults to `item.id`. */
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

/** Escapes a LIKE pattern, in which only `%` is special: it matches any text. */
function likePattern(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("_", "\\_");
}

/** The condition of one filter. `next` takes a parameter and returns its placeholder. */
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
    // SQL comparisons are not null-safe, but a missing value differs from any given one.
    case "ne":
      return `NOT coalesce(${within(one(first))}, false)`;
    case "in":
      return within(several(filter.values));
    case "nin":
      return `NOT coalesce(${within(several(filter.values))}, false)`;
    case "ilike": {
      // ILIKE would convert every row to lower case. The key is lower case already, and part of an index.
      const lowered = column.lowerCase ? column.value : column.nullable ? undefined : column.key;
      return lowered === undefined
        ? within(`${column.value} ILIKE ${next(likePattern(first))}::text`)
        : within(`${lowered} LIKE lower(${next(likePattern(first))}::text)`);
    }
    case "gt":
    case "gte":
    case "lt":
    case "lte": {
      const sign = comparisons[filter.operator];
      if (cast !== "text") return within(`${column.value} ${sign} ${next(first)}::${cast}`);
      // Text is compared in its sort order: case-insensitively, by code point, regardless of the database's collation.
      const key = column.key ?? `lower(${column.value}) COLLATE "C"`;
      return within(`${key} ${sign} lower(${next(first)}::text)`);
    }
  }
}

/** The condition of a list, with its values as parameters. */
export function whereOf(source: ListSource, filters: readonly Filter[], parameters: unknown[]): string {
  const next = (value: unknown) => `$${parameters.push(value)}`;
  const conditions = filters.map((filter) => condition(source, filter, next));
  if (source.inTenant !== false) conditions.unshift("item.tenant_id = current_tenant()");
  return conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
}

interface OrderTerm {
  readonly key: string;
  readonly descending: boolean;
  readonly nullable: boolean;
}

/** The expressions that order a list completely. */
function orderTerms(source: ListSource, query: ListQuery): readonly OrderTerm[] {
  const terms = query.sort.map(({ field, descending }): OrderTerm => {
    const { value, key = value, nullable = false } = columnOf(source, field);
    return { key, descending, nullable };
  });
  const tieBreak = source.tieBreak ?? "item.id";
  const complete = query.sort.some(({ field }) => field === "id" || columnOf(source, field).value === tieBreak);
  return complete ? terms : [...terms, { key: tieBreak, descending: false, nullable: false }];
}

export function orderOf(source: ListSource, query: ListQuery): string {
  const terms = orderTerms(source, query).map(({ key, descending }) => `${key} ${descending ? "DESC" : "ASC"}`);
  return `ORDER BY ${terms.join(", ")}`;
}

/** The row of one record of the list. */
function recordById(source: ListSource, placeholder: string): string {
  const tenant = source.inTenant === false ? "" : "item.tenant_id = current_tenant() AND ";
  return `FROM ${source.table} AS item WHERE ${tenant}item.id = ${placeholder}::uuid`;
}

/** The condition that a row comes later in the order than the record with an id. */
function afterCondition(source: ListSource, query: ListQuery, placeholder: string): string {
  const terms = orderTerms(source, query);
  const record = recordById(source, placeholder);
  const [first, ...others] = terms;
  if (first === undefined) throw new Error("every order ends with a term that is unique");
  // PostgreSQL compares rows with an index if all terms have one direction and a value.
  if (terms.every(({ descending, nullable }) => descending === first.descending && !nullable)) {
    const keys = terms.map(({ key }) => key).join(", ");
    return `(${keys}) ${first.descending ? "<" : ">"} (SELECT ${keys} ${record})`;
  }
  return laterThan(record, first, others);
}

function laterThan(record: string, { key, descending, nullable }: OrderTerm, [next, ...rest]: OrderTerm[]): string {
  const other = `(SELECT ${key} ${record})`;
  const sign = descending ? "<" : ">";
  // PostgreSQL sorts missing values last in ascending order, and first in descending order.
  const [missing, present] = descending ? [other, key] : [key, other];
  const strictly = nullable
    ? `(${key} ${sign} ${other} OR (${missing} IS NULL AND ${present} IS NOT NULL))`
    : `${key} ${sign} ${other}`;
  if (next === undefined) return strictly;
  const same = nullable ? `${key} IS NOT DISTINCT FROM ${other}` : `${key} = ${other}`;
  const later = `(${strictly} OR (${same} AND ${laterThan(record, next, rest)}))`;
  // The first condition selects a range of an index.
  return nullable ? later : `(${key} ${sign}= ${other} AND ${later})`;
}

/**
 * The condition, order and extent of a page. A page after a record has one more row if another page follows.
 *
 * @param filtered the condition of the filters, as returned by `whereOf`
 */
function selectionOf(source: ListSource, query: ListQuery, filtered: string, parameters: unknown[]): string {
  const { after, limit, offset } = query;
  let where = filtered;
  if (after !== undefined) {
    const condition = afterCondition(source, query, `$${parameters.push(after)}`);
    where = where === "" ? `WHERE ${condition}` : `${where} AND ${condition}`;
  }
  return `${where} ${orderOf(source, query)} LIMIT ${after === undefined ? limit : limit + 1} OFFSET ${offset}`;
}

/** Selects the record that a page follows. */
export function recordStatement(source: ListSource, id: string): ListStatement<{ readonly id: string }> {
  return { statement: unprepared(`SELECT item.id ${recordById(source, "$1")}`), parameters: [id] };
}

export interface ListStatement<Row> {
  readonly statement: Statement<Row, ListParameters>;
  readonly parameters: ListParameters;
}

/** The rows of the page. The page is selected first, so that columns are computed only for its rows. */
export function pageStatement<Row>(source: ListSource, query: ListQuery): ListStatement<Row> {
  const parameters: unknown[] = [];
  const where = whereOf(source, query.filters, parameters);
  const page = `SELECT item.* FROM ${source.table} AS item ${selectionOf(source, query, where, parameters)}`;
  const text = `SELECT ${source.select} FROM (${page}) AS item ${orderOf(source, query)}`;
  return { statement: unprepared(text), parameters };
}

/** The ids of the page that `pageIdsStatement` has selected, in their order. For statements without parameters. */
export const pageIds = "unnest(current_setting('app.page')::uuid[]) WITH ORDINALITY AS page (id, place)";

const pageSettings = ["enable_seqscan", "enable_hashjoin", "enable_mergejoin"].map(
  (name) => `set_config('${name}', 'off', true)`,
);

/** Leaves known ids to the next statements of the transaction, like `pageIdsStatement`. */
export function givenIdsStatement(name: string): Statement<unknown, [ids: readonly string[]]> {
  return statement(name, `SELECT ${["set_config('app.page', $1::uuid[]::text, true)", ...pageSettings].join(", ")}`);
}

/**
 * Selects the page and leaves its ids to the next statements of the transaction. Only this statement is planned for
 * each request, because its best plan depends on the values, and it reads only an index if the order has one.
 *
 * The next statements look records up by their ids. They are planned once per connection, possibly while their tables
 * are still empty, so the planner must not choose to read a whole table.
 *
 * @param counted whether `total` is the number of matching rows on all pages together. Otherwise it is null.
 */
export function pageIdsStatement(
  source: ListSource,
  query: ListQuery,
  counted: boolean,
): ListStatement<{ readonly total: number | null }> {
  const parameters: unknown[] = [];
  const where = whereOf(source, query.filters, parameters);
  const page = `SELECT item.id FROM ${source.table} AS item ${selectionOf(source, query, where, parameters)}`;
  const ids = "'{' || coalesce(string_agg(page.id::text, ','), '') || '}'";
  const total = counted ? totalOf(source, query, where) : "NULL";
  const values = [`set_config('app.page', ${ids}, true)`, ...pageSettings, `${total} AS total`];
  return { statement: unprepared(`SELECT ${values.join(", ")} FROM (${page}) AS page`), parameters };
}

/** The number of matching rows. On the last page, the total follows from the offset, so the rows are not counted. */
function totalOf(source: ListSource, { after, limit, offset }: ListQuery, where: string): string {
  const every = `(SELECT count(*) FROM ${source.table} AS item ${where})`;
  if (after !== undefined) return every;
  const found = "count(page.id)";
  const isLast = `${found} < ${limit}${offset === 0 ? "" : ` AND ${found} > 0`}`;
  return `CASE WHEN ${isLast} THEN ${offset} + ${found} ELSE ${every} END`;
}

const rowStatements = new WeakMap<ListSource, Statement<unknown, []>>();

/** The rows of the page that `pageIdsStatement` has selected. */
export function pageRowsStatement<Row>(source: ListSource): Statement<Row, []> {
  let known = rowStatements.get(source);
  if (known === undefined) {
    const { table, variant, select } = source;
    known = statement(
      `lists.${variant ?? table}`,
      `SELECT ${select} FROM ${pageIds}
       JOIN ${table} AS item ON item.tenant_id = current_tenant() AND item.id = page.id ORDER BY page.place`,
    );
    rowStatements.set(source, known);
  }
  return known as Statement<Row, []>; // the source's queries declare the type
}

/**
 * The filters of a list as a condition for another statement, on a row named `item`.
 *
 * @param parameters the statement's parameters, to which the values of the filters are appended
 * @returns `true` without filters
 */
export function filterCondition(source: ListSource, filters: readonly Filter[], parameters: unknown[]): string {
  const conditions = filters.map((filter) => condition(source, filter, (value) => `$${parameters.push(value)}`));
  return conditions.length === 0 ? "true" : conditions.join(" AND ");
}

/** Counts the matching rows on all pages together. */
export function countStatement(source: ListSource, query: ListQuery): ListStatement<{ count: number }> {
  const parameters: unknown[] = [];
  const where = whereOf(source, query.filters, parameters);
  return { statement: unprepared(`SELECT count(*) AS count FROM ${source.table} AS item ${where}`), parameters };
}

/**
 * Wraps the items of a page in the format of the API.
 *
 * @param items of a page after a record, one more than the limit if another page follows
 */
export function pageOfItems<T>(query: ListQuery, items: readonly T[], total: number): Page<T> {
  const { after, limit, offset } = query;
  const data = items.slice(0, limit);
  return {
    data,
    total,
    page: Math.floor(offset / limit),
    limit,
    hasNext: after === undefined ? offset + data.length < total : items.length > limit,
    hasPrevious: after !== undefined || offset > 0,
  };
}
