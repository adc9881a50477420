/** The JSON Schema (draft 7) of configuration documents, for editors. */
import { Configuration } from "./records/configuration.ts";
import { componentKeyword, documentedKeyword, trimKeyword } from "./schema.ts";

const ownKeywords: ReadonlySet<string> = new Set([componentKeyword, documentedKeyword, trimKeyword]);

/** The path at which every server provides the schema. */
export const configurationSchemaPath = "/schemas/configuration.json";

export const configurationSchema: Readonly<Record<string, unknown>> = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "Gatehouse configuration",
  ...(withoutOwnKeywords(Configuration) as object), // an object's schema is an object
};

/** Removes Gatehouse's own keywords and `nullable` of OpenAPI, which strict editors reject. */
function withoutOwnKeywords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutOwnKeywords);
  if (schema === null || typeof schema !== "object") return schema;
  const isNullable = "nullable" in schema && schema.nullable === true;
  const entries = Object.entries(schema).filter(([keyword]) => !ownKeywords.has(keyword) && keyword !== "nullable");
  return Object.fromEntries(
    entries.map(([keyword, value]) => [
      keyword,
      keyword === "type" && isNullable ? [value, "null"] : withoutOwnKeywords(value),
    ]),
  );
}
