/** JSON values. Numbers are integers below 2^53, which all programs read identically (RFC 8259, section 6). */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined };

/**
 * Returns canonical JSON (RFC 8785): one text for each value. JSON.stringify already formats strings and integers as
 * the RFC requires; this function adds the order of keys.
 *
 * @throws RangeError for other numbers, so that no hash depends on the format of fractions
 */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new RangeError(`${value} cannot be hashed. Use integers from -(2^53 - 1) to 2^53 - 1.`);
  }
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (isList(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const parts: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const part = value[key];
    if (part !== undefined) parts.push(`${JSON.stringify(key)}:${canonicalJson(part)}`);
  }
  return `{${parts.join(",")}}`;
}

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}
