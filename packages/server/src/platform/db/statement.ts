/**
 * SQL as data. A statement is written once, at module level, and prepared once per connection under its name; callers give
 * parameters only. `Row` is what a row of the answer looks like: timestamps are ISO strings (see `column-types.ts`).
 */
export interface Statement<Row, Parameters extends readonly unknown[]> {
  /** Unique in the program; undefined for text that is made at run time and not worth keeping prepared. */
  readonly name: string | undefined;
  readonly text: string;
  /** Carries the types; never called. */
  readonly types?: (parameters: Parameters) => Row;
}

const named = new Map<string, string>();

/**
 * Declares a prepared statement.
 *
 * @param name unique, at most 63 bytes, by convention `<noun>.<what>`
 * @throws when two statements claim one name
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

/** A statement that is planned anew each time: for lists, whose best plan depends on the values. */
export function unprepared<Row, Parameters extends readonly unknown[]>(text: string): Statement<Row, Parameters> {
  return { name: undefined, text };
}
