/** SQL that writes JSON as views serialize it, so that records with thousands of embedded ones are never parsed. */

/** A field of an embedded record: its name, and the name of its column. */
export interface JsonField {
  readonly name: string;
  readonly column: string;
  /** A uuid, a text, a text that is omitted if it is empty, or a time in ISO 8601 with milliseconds. */
  readonly kind: "id" | "text" | "filled-text" | "time";
}

/**
 * SQL for the JSON of an array of objects, as one text. It has the bytes of `JSON.stringify`.
 *
 * @param alias the name of the row
 * @param fields the first of them is an id
 * @param order SQL for the order of the objects
 * @param from SQL that begins with FROM
 */
export function jsonArrayText(alias: string, fields: readonly JsonField[], order: string, from: string): string {
  const parts = fields.map((field, index) => fieldText(alias, field, index === 0 ? "" : ","));
  return `(SELECT '[' || coalesce(string_agg('{' || ${parts.join(" || ")} || '}', ',' ORDER BY ${order}), '') || ']' ${from})`;
}

function fieldText(alias: string, { name, column, kind }: JsonField, separator: string): string {
  const value = `${alias}.${column}`;
  const key = `${separator}"${name}":`;
  switch (kind) {
    case "id":
      return `'${key}"' || ${value} || '"'`;
    case "time":
      return `'${key}"' || to_char(${value} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'`;
    case "text":
      return `'${key}' || to_json(${value})`;
    case "filled-text":
      return `CASE WHEN ${value} = '' THEN '' ELSE '${key}' || to_json(${value}) END`;
  }
}
