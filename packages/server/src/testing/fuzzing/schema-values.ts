/** Arbitrary values for the schemas of the served OpenAPI document. */
import fc from "fast-check";

/** The parts of an OpenAPI 3.0 schema that the document uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

export type Schemas = Readonly<Record<string, Schema>>;

/** The schema that a schema refers to, or itself. */
export function resolved(schema: Schema, schemas: Schemas): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : resolved(schemas[name] ?? {}, schemas);
}

const maxItems = 2;
const maxTextLength = 40;
/** Deeper values are as small as the schema allows. */
const maxDepth = 2;

/** Values that a schema allows. They need not mean anything to the server. */
export function allowedBy(reference: Schema, schemas: Schemas, depth = 0): fc.Arbitrary<unknown> {
  const schema = resolved(reference, schemas);
  const branches = schema.anyOf ?? schema.oneOf;
  const some =
    branches === undefined
      ? plainValueOf(schema, schemas, depth)
      : fc.oneof(...branches.map((branch) => allowedBy(branch, schemas, depth)));
  return schema.nullable === true ? fc.option(some, { nil: null, freq: 4 }) : some;
}

function plainValueOf(schema: Schema, schemas: Schemas, depth: number): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case "string":
      return textOf(schema);
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer({ min: schema.minimum ?? -5, max: Math.min(schema.maximum ?? 100_000, 2 ** 31 - 1) });
    case "number":
      return fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
    case "array":
      return listOf(schema, schemas, depth);
    case "object":
      return objectOf(schema, schemas, depth);
    default:
      return fc.oneof(fc.string({ maxLength: maxTextLength }), fc.integer(), fc.boolean());
  }
}

function listOf(
  { items = {}, minItems = 0, maxItems: most = maxItems, uniqueItems }: Schema,
  schemas: Schemas,
  depth: number,
) {
  const bounds = {
    minLength: minItems,
    maxLength: Math.max(minItems, depth > maxDepth ? 0 : Math.min(most, maxItems)),
  };
  const element = allowedBy(items, schemas, depth + 1);
  return uniqueItems === true
    ? fc.uniqueArray(element, { ...bounds, selector: (value) => JSON.stringify(value) })
    : fc.array(element, bounds);
}

function objectOf(schema: Schema, schemas: Schemas, depth: number): fc.Arbitrary<object> {
  const { properties = {}, required = [], additionalProperties } = schema;
  const fields = Object.entries(properties).filter(([name]) => depth <= maxDepth || required.includes(name));
  const declared = fc.record(
    Object.fromEntries(fields.map(([name, field]) => [name, allowedBy(field, schemas, depth + 1)])),
    { requiredKeys: required.filter((name) => name in properties) },
  );
  if (typeof additionalProperties !== "object" || Object.keys(properties).length > 0) return declared;
  return fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), allowedBy(additionalProperties, schemas, depth + 1), {
    maxKeys: maxItems,
  });
}

function textOf({
  format,
  pattern,
  minLength = 0,
  maxLength = Number.POSITIVE_INFINITY,
}: Schema): fc.Arbitrary<string> {
  switch (format) {
    case "uuid":
      return fc.uuid();
    case "date-time":
      return fc
        .date({ min: new Date("2000-01-01T00:00:00Z"), max: new Date("2100-01-01T00:00:00Z"), noInvalidDate: true })
        .map((date) => date.toISOString());
    case "email":
      return fc.stringMatching(/^[a-z]{1,12}$/).map((name) => `${name}@example.com`);
    case "ipv4":
      return fc.ipV4();
    case "ipv6":
      return fc.ipV6();
    case "page-token":
      // Only tokens from answers to the same search are valid.
      return fc.constant("");
    default:
  }
  const most = Math.max(minLength, Math.min(maxLength, maxTextLength));
  const plain = fc.string({ unit: "grapheme", minLength, maxLength: most });
  if (pattern === undefined) return plain.filter((text) => [...text].length <= maxLength);
  const form = new RegExp(pattern, "u");
  const isAllowed = (text: string) => form.test(text) && [...text].length >= minLength && [...text].length <= maxLength;
  // Patterns that only forbid characters are matched by most texts. Other patterns are generated.
  const base = excludes(pattern) ? fc.string({ minLength, maxLength: most }) : fc.stringMatching(form);
  return base.filter(isAllowed);
}

/** Whether a pattern only excludes characters, as in `^[^\u0000]*$`. */
function excludes(pattern: string): boolean {
  return pattern === "\\S" || /^\^(?:\[\^[^\]]*\]\*?)+\$$/.test(pattern);
}

/** Values of every kind, regardless of a schema. */
export const anything: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    "",
    " ",
    "\u0000",
    "\u202eevil",
    "\u200b",
    "\ud800",
    "__proto__",
    "@name",
    "x".repeat(5_000),
    0,
    -1,
    1.5,
    2 ** 53,
    1e308,
    true,
    [],
    {},
    [[]],
    [null],
    { constructor: 1 },
    "00000000-0000-0000-0000-000000000000",
  ),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.jsonValue({ maxDepth: 3 }),
);
