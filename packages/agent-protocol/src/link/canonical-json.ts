/** What JSON holds; numbers are integers of less than 2^53, which every program reads the same (RFC 8259, section 6). */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined };

/**
 * Canonical JSON (RFC 8785): the same text for the same value, whoever writes it. JSON.stringify writes strings and integers as the RFC
 * wants them; what is left is the order of keys.
 *
 * @throws RangeError for a number that is no such integer, so that nobody ever depends on how fractions are written
 */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new RangeError(`${value} is hashed nowhere: only integers from -(2^53 - 1) to 2^53 - 1 are.`);
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
