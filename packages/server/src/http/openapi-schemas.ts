/** Converts schemas of the contract to schemas of OpenAPI 3.0. */
import {
  componentKeyword,
  documentedKeyword,
  referenceKeyword,
  trimKeyword,
  validatedLaterKeyword,
} from "@gatehouse/contract/schema";

type Json = Record<string, unknown>;

/** Converts a schema. Collects components in `schemas`, and replaces them with references. */
export function schemaOf(schema: unknown, schemas: Json): unknown {
  if (Array.isArray(schema)) return schema.map((item) => schemaOf(item, schemas));
  if (schema === null || typeof schema !== "object") return schema;
  const entries = Object.entries(schema).filter(([key]) => !omittedKeywords.has(key));
  const plain = Object.fromEntries(entries.map(([key, value]) => [key, schemaOf(value, schemas)]));
  const converted = withConditions({ ...plain, ...nonBlank(schema as Json) }, (schema as Json)[documentedKeyword]);
  const name = (schema as Json)[componentKeyword];
  if (typeof name !== "string") return converted;
  // OpenAPI 3.0 ignores siblings of $ref, so a nullable component would not be nullable.
  if ("nullable" in schema) throw new Error(`the component ${name} cannot be nullable by itself`);
  schemas[name] = converted;
  return { $ref: `#/components/schemas/${name}` };
}

/** The form of a value, stated once per alternative: generated client types do not combine both. */
function withConditions(schema: Json, conditions: unknown): Json {
  const { anyOf, ...others } = (conditions ?? {}) as { readonly anyOf?: readonly Json[] };
  if (anyOf === undefined) return { ...schema, ...others };
  const { description, ...form } = schema;
  return {
    ...(description === undefined ? {} : { description }),
    ...others,
    anyOf: anyOf.map((alternative) => {
      const properties = (form.properties ?? {}) as Readonly<Record<string, Json>>;
      const changed = Object.entries((alternative.properties ?? {}) as Readonly<Record<string, Json>>).map(
        ([name, condition]) => [name, { ...properties[name], ...condition }],
      );
      const merged = { ...properties, ...Object.fromEntries(changed) };
      return { ...form, ...alternative, ...(form.properties === undefined ? {} : { properties: merged }) };
    }),
  };
}

/** The pattern of a trimmed string that must not be empty, without lookaheads: RE2 does not have them. */
function nonBlank(schema: Json): { readonly pattern?: string } {
  if (schema[trimKeyword] !== true || schema.minLength !== 1) return {};
  if (schema.pattern === undefined) return { pattern: "\\S" };
  const excluded = /^\^\[\^(.+)\]\*\$$/.exec(String(schema.pattern))?.[1];
  return excluded === undefined ? {} : { pattern: `^[^${excluded}]*[^\\s${excluded}][^${excluded}]*$` };
}

/** Gatehouse's own keywords, and `propertyNames`, which OpenAPI 3.0 does not have. */
const omittedKeywords = new Set<string>([
  componentKeyword,
  documentedKeyword,
  referenceKeyword,
  trimKeyword,
  validatedLaterKeyword,
  "propertyNames",
]);
