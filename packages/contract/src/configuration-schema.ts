/** The form of configuration documents as a JSON Schema (draft 7), for editors. */
import { Configuration } from "./records/configuration.ts";
import { componentKeyword, trimKeyword } from "./schema.ts";

/** Where every installation serves it. */
export const configurationSchemaPath = "/schemas/configuration.json";

export const configurationSchema: Readonly<Record<string, unknown>> = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "Gatehouse configuration",
  ...(withoutOwnKeywords(Configuration) as object), // an object's schema is an object
};

/** Keywords that only Gatehouse understands, strict editors complain of. */
function withoutOwnKeywords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutOwnKeywords);
  if (schema === null || typeof schema !== "object") return schema;
  const entries = Object.entries(schema).filter(([keyword]) => keyword !== componentKeyword && keyword !== trimKeyword);
  return Object.fromEntries(entries.map(([keyword, value]) => [keyword, withoutOwnKeywords(value)]));
}
