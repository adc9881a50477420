/** Records made from the schemas of the OpenAPI document, so that a test gives only the fields it is about. */
import type { components } from "@gatehouse/client/generated/api";
import { type JsonSchema, resolveReference, schemaViolations } from "./openapi-document.ts";

export type Schemas = components["schemas"];

let ids = 0;

/** A new UUID, the same in each run. */
export function newId(): string {
  ids += 1;
  return `01980000-0000-7000-8000-${String(ids).padStart(12, "0")}`;
}

/** The smallest value that the schema accepts: required fields, empty lists, the first of several choices. */
export function sampleOf(schema: JsonSchema): unknown {
  if (schema.$ref !== undefined) return sampleOf(resolveReference(schema.$ref));
  const choice = schema.anyOf?.[0] ?? schema.oneOf?.[0];
  if (choice !== undefined) return sampleOf(choice);
  if (schema.allOf !== undefined) return Object.assign({}, ...schema.allOf.map(sampleOf));
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.nullable === true) return null;
  switch (schema.type) {
    case "string":
      return sampleText(schema);
    case "integer":
    case "number":
      return schema.minimum ?? 0;
    case "boolean":
      return false;
    case "array":
      return Array.from({ length: schema.minItems ?? 0 }, () => sampleOf(schema.items ?? {}));
    case "object":
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, sampleOf(schema.properties?.[name] ?? {})]),
      );
    default:
      return {};
  }
}

function sampleText({ format, pattern, minLength = 0 }: JsonSchema): string {
  if (format === "uuid") return newId();
  if (format === "date-time") return "2026-03-02T09:00:00.000Z";
  if (format === "email") return "someone@example.com";
  if (format?.startsWith("uri") === true) return "https://example.com/";
  const candidates = ["x".repeat(minLength), "1".repeat(Math.max(1, minLength)), "192.0.2.1", "2001:db8::1"];
  return candidates.find((text) => pattern === undefined || new RegExp(pattern).test(text)) ?? "";
}

/** Records inside a record may be incomplete. `sample` checks the whole record against its schema. */
type Incomplete<T> = T extends readonly (infer Item)[]
  ? readonly Incomplete<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]?: Incomplete<T[Key]> }
    : T;

/** A record by the name of its schema. @throws Error if the record does not conform to the schema */
export function sample<Name extends keyof Schemas>(name: Name, fields?: Incomplete<Schemas[Name]>): Schemas[Name] {
  const schema: JsonSchema = { $ref: `#/components/schemas/${name}` };
  const record = { ...(sampleOf(schema) as object), ...fields };
  const violations = schemaViolations(schema, record);
  if (violations.length > 0) throw new Error(`This is not a valid ${name}: ${violations.join("; ")}`);
  return record as Schemas[Name];
}

/** A page of a list that holds all of its records. */
export function pageOf<Row>(rows: readonly Row[], total = rows.length) {
  return { data: rows, total, page: 0, limit: 25, hasNext: total > rows.length, hasPrevious: false };
}
