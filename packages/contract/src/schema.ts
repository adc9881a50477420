/**
 * The building blocks that every record and request of the API is declared with.
 *
 * They stay inside what JSON Schema draft 7 (validation) and OpenAPI 3.0.3 (documentation) have in common, so that one
 * declaration serves both: enumerations are `enum`, never `anyOf` of constants; "or null" is `nullable` beside a type.
 */
import Type, { type Static, type TObject, type TProperties, type TSchema, type TUnsafe } from "typebox";

/** Marks a schema that the OpenAPI document lists once under `components.schemas` and refers to from everywhere else. */
export const componentKeyword = "x-component";
/** Marks a string whose surrounding white space is taken off before its length is checked. */
export const trimKeyword = "x-trim";

/** An object that refuses fields it does not declare. */
export function closedObject<P extends TProperties>(properties: P, options: object = {}): TObject<P> {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** A closed object that the OpenAPI document shows under a name of its own. */
export function component<P extends TProperties>(name: string, description: string, properties: P): TObject<P> {
  return closedObject(properties, { [componentKeyword]: name, description });
}

/** A string out of a fixed set. */
export function oneOf<const V extends readonly string[]>(values: V, options: object = {}): TUnsafe<V[number]> {
  return Type.Unsafe<V[number]>({ type: "string", enum: [...values], ...options });
}

/** The schema's values, or null. */
export function nullable<S extends TSchema>(schema: S): TUnsafe<Static<S> | null> {
  return Type.Unsafe<Static<S> | null>({ ...schema, nullable: true });
}

/** An identifier: a UUID, version 7 where the server made it (RFC 9562). */
export const Uuid = Type.String({ format: "uuid" });

/** A moment in ISO 8601, UTC, with milliseconds. */
export const Timestamp = Type.String({ format: "date-time" });

/** A list of ids without repeats, at most `maxItems` of them. */
export function idList(description: string, maxItems = 5000) {
  return Type.Array(Uuid, { maxItems, uniqueItems: true, description });
}

/** What an administrator calls a record: 1–120 characters once trimmed, none of them a control character. */
export const Name = Type.String({
  [trimKeyword]: true,
  minLength: 1,
  maxLength: 120,
  pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
});

/** Free text of at most 1,000 characters. `""` clears it. NUL cannot be stored. */
export const Description = Type.String({ maxLength: 1000, pattern: "^[^\\u0000]*$" });

/** A short line of text, such as a version or a first name. `""` clears it. */
export function shortText(maxLength: number, description?: string) {
  return Type.String({
    maxLength,
    pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
    ...(description === undefined ? {} : { description }),
  });
}

/**
 * An e-mail address in the form of RFC 5321: local part of at most 64 octets, 254 in all. Quoted local parts and address
 * literals are left out: no directory hands them out.
 */
export const Email = Type.String({ [trimKeyword]: true, format: "email", maxLength: 254 });

/**
 * A flat object of booleans, numbers and strings: user attributes, device posture. OpenAPI 3.0 cannot say what the names
 * may be, so the description does.
 */
export function flatFacts(description: string) {
  return Type.Unsafe<Record<string, string | number | boolean>>({
    type: "object",
    description: `${description} At most 64 entries; names of 1 to 64 characters, none of them a control character; strings of at most 256 characters.`,
    maxProperties: 64,
    propertyNames: { minLength: 1, maxLength: 64, pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$" },
    additionalProperties: {
      anyOf: [{ type: "boolean" }, { type: "number" }, { type: "string", maxLength: 256, pattern: "^[^\\u0000]*$" }],
    },
  });
}

/** For how many seconds a secret that was rotated away goes on working, where the request does not say. */
export const defaultGraceSeconds = 86_400;

/** How long a secret that was rotated away goes on working beside its replacement. */
export const GraceSeconds = Type.Integer({
  minimum: 0,
  maximum: 2_592_000,
  default: defaultGraceSeconds,
  description: "Seconds; a day where absent, 30 days at most.",
});

/** Fields that every stored record carries. */
export const identity = {
  id: Uuid,
  createdAt: Timestamp,
  updatedAt: Timestamp,
};
