/**
 * SQL for columns of a row as one json value, for records that embed others. Timestamps in the value have PostgreSQL's
 * format; views convert them with `isoTimestamp`.
 *
 * @param alias the name of the row
 * @param columns the names of its columns, which become the names of the fields
 * @param computed further fields: expressions by name
 */
export function jsonObject(
  alias: string,
  columns: readonly string[],
  computed: Readonly<Record<string, string>> = {},
): string {
  const fields = columns.map((column) => `'${column}', ${alias}.${column}`);
  for (const [name, expression] of Object.entries(computed)) fields.push(`'${name}', ${expression}`);
  return `json_build_object(${fields.join(", ")})`;
}
