/**
 * The building blocks of all record and request schemas.
 *
 * They use only what JSON Schema draft 7 (validation) and OpenAPI 3.0.3 (documentation) have in common, so that one
 * declaration serves both. Enumerations are `enum`, never `anyOf` of constants; a nullable value has `nullable` beside
 * its type.
 */
import Type, { type Static, type TObject, type TProperties, type TSchema, type TUnsafe } from "typebox";

/**
 * Marks a part of a body that documents its form and is not validated with the body: the operation validates it and
 * answers for it alone.
 */
export const validatedLaterKeyword = "x-validated-later";

/** Marks a schema that the OpenAPI document defines once under `components.schemas` and references elsewhere. */
export const componentKeyword = "x-component";
/**
 * Marks a string that is the id of a record or something else, such as a name. In change sets, it takes `@name` like a
 * UUID, but only if an earlier change has this name.
 */
export const referenceKeyword = "x-reference";
/** Marks a string that is trimmed before its length is checked. */
export const trimKeyword = "x-trim";
/**
 * Conditions that the OpenAPI document states. Operations check these conditions themselves, because they accept more
 * than the conditions state or answer with more precise errors.
 */
export const documentedKeyword = "x-documented";

/** An object schema that rejects undeclared fields. */
export function closedObject<P extends TProperties>(properties: P, options: object = {}): TObject<P> {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** A closed object that is a named component of the OpenAPI document. */
export function component<P extends TProperties>(name: string, description: string, properties: P): TObject<P> {
  return closedObject(properties, { [componentKeyword]: name, description });
}

/** A string from a fixed set. */
export function oneOf<const V extends readonly string[]>(values: V, options: object = {}): TUnsafe<V[number]> {
  return Type.Unsafe<V[number]>({ type: "string", enum: [...values], ...options });
}

/** The schema's values or null. */
export function nullable<S extends TSchema>(schema: S): TUnsafe<Static<S> | null> {
  return Type.Unsafe<Static<S> | null>({ ...schema, nullable: true });
}

/** A UUID (RFC 9562). The server generates version 7. */
export const Uuid = Type.String({ format: "uuid" });

/** A time in ISO 8601, in UTC with milliseconds. */
export const Timestamp = Type.String({ format: "date-time" });

/** The form of an IP address in the OpenAPI document. */
export const documentedIpAddress = { [documentedKeyword]: { anyOf: [{ format: "ipv4" }, { format: "ipv6" }] } };

/** A list of at most `maxItems` unique ids. */
export function idList(description: string, maxItems = 5000) {
  return Type.Array(Uuid, { maxItems, uniqueItems: true, description });
}

/** The name of a record: 1 to 120 characters after trimming, without control characters. */
export const Name = Type.String({
  [trimKeyword]: true,
  minLength: 1,
  maxLength: 120,
  pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
});

/** Free text of at most 1,000 characters. `""` clears it. PostgreSQL cannot store NUL. */
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
 * An email address (RFC 5321): a local part of at most 64 octets, 254 in all. Quoted local parts and address literals
 * are not supported, since no directory uses them.
 */
export const Email = Type.String({ [trimKeyword]: true, format: "email", maxLength: 254 });

/**
 * A flat object of booleans, numbers and strings: user attributes or device posture. OpenAPI 3.0 cannot restrict
 * property names, so the description states the restriction.
 */
export function flatFacts(description: string) {
  return Type.Unsafe<Record<string, string | number | boolean>>({
    type: "object",
    description: `${description} At most 64 entries. Names have 1 to 64 characters without control characters, strings at most 256 characters.`,
    maxProperties: 64,
    propertyNames: { minLength: 1, maxLength: 64, pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$" },
    additionalProperties: {
      anyOf: [{ type: "boolean" }, { type: "number" }, { type: "string", maxLength: 256, pattern: "^[^\\u0000]*$" }],
    },
  });
}

/** The default grace period of a rotated secret, in seconds. */
export const defaultGraceSeconds = 86_400;

/** How long the previous secret stays valid after a rotation. */
export const GraceSeconds = Type.Integer({
  minimum: 0,
  maximum: 2_592_000,
  default: defaultGraceSeconds,
  description: "Grace period in seconds; one day by default, 30 days at most.",
});

/** Fields of every stored record. */
export const identity = {
  id: Uuid,
  createdAt: Timestamp,
  updatedAt: Timestamp,
};
