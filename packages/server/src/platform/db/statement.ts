/**
 * SQL as data. A statement is declared once, at module level, and prepared once per connection under its name. Callers
 * provide only parameters. `Row` is the type of a result row, with timestamps as ISO strings (see `column-types.ts`).
 */
export interface Statement<Row, Parameters extends readonly unknown[]> {
  /** Unique in the program; undefined for text that is built at run time and not worth preparing. */
  readonly name: string | undefined;
  readonly text: string;
  /** Only for type inference; never called. */
  readonly types?: (parameters: Parameters) => Row;
}

const named = new Map<string, string>();

/**
 * Declares a prepared statement.
 *
 * @param name unique, at most 63 bytes, by convention `<noun>.<what>`
 * @throws if two statements have the same name
 */
export function statement<Row, Parameters extends readonly unknown[]>(
  name: string,
  text: string,
): Statement<Row, Parameters> {
  const known = named.get(name);
  if (known !== undefined && known !== text) throw new Error(`two statements are named ${name}`);
  if (Buffer.byteLength(name) > 63) throw new Error(`the statement name ${name} is over 63 bytes`);
  named.set(name, text);
  return { name, text };
}

/** A statement that is planned for each execution: for lists, whose best plan depends on the values. */
export function unprepared<Row, Parameters extends readonly unknown[]>(text: string): Statement<Row, Parameters> {
  return { name: undefined, text };
}
