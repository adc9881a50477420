/**
 * An operation of the API as data. Validation, authorization, serialization, the OpenAPI document and the generated
 * tests are all made from these declarations; nothing else says what the API is.
 */
import type { Static, TSchema } from "typebox";
import type { ErrorCode } from "./errors.ts";
import type { ListDeclaration } from "./list.ts";
import type { Permission } from "./permissions.ts";

/** Who may call: holders of a tenant key with the permission, or the operator of the installation. */
export type Access = Permission | "operator";

/**
 * How a path parameter is declared. A malformed `uuid` is a malformed request (400); a `string` that is no record's id
 * is simply not found (404).
 */
export type ParameterKind = "uuid" | "string";

/** A query parameter with a name of its own: one of these values, or a text up to a length; without either, a whole number. */
export interface QueryParameter {
  readonly description: string;
  readonly values?: readonly string[];
  readonly maxLength?: number;
  /** What its absence means. */
  readonly default?: string;
}

/** An answer of unknown length, sent as it is made. */
export interface StreamSuccess {
  readonly status: 200;
  readonly kind: "stream";
  readonly description: string;
  readonly mediaTypes: readonly string[];
  readonly query: Readonly<Record<string, QueryParameter>>;
  /** Fields that `filter[field]` takes, as in a list. */
  readonly filter: ListDeclaration["filter"];
  /** The answer goes on until one side ends it. */
  readonly live?: true;
}

/** What a successful answer carries. `version` says whether the answer has the record's ETag. */
export type Success =
  // `located`: the answer has the Location of what was made, although the path is that of another record.
  | { readonly status: 200 | 201; readonly kind: "record"; readonly body: TSchema; readonly located?: true }
  | { readonly status: 200 | 201; readonly kind: "records"; readonly body: TSchema }
  | {
      readonly status: 200;
      readonly kind: "page";
      readonly item: TSchema;
      readonly list: ListDeclaration;
      /** What the list is asked for besides. */
      readonly query?: Readonly<Record<string, QueryParameter>>;
    }
  | { readonly status: 200; readonly kind: "array"; readonly item: TSchema }
  // What is worked out and not kept: a POST that changes nothing and has no version.
  | { readonly status: 200; readonly kind: "report"; readonly body: TSchema }
  | StreamSuccess
  | { readonly status: 200 | 204; readonly kind: "empty" };

export interface Operation {
  /** Stable, in camelCase, verb first: the OpenAPI `operationId`, and the `operation` of audit entries. */
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With parameters in braces: `/tenants/users/{id}`. */
  readonly path: `/${string}`;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** One entry for each brace in `path`. */
  readonly parameters?: Readonly<Record<string, ParameterKind>>;
  /** Query parameters that are true or false, each with its description; absent means false. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly body?: TSchema;
  /** How long the body may be, in bytes; 1 MiB where absent. */
  readonly bodyLimitBytes?: number;
  /** True where `If-Match` is taken although no record stands in the path: what is written is the tenant as a whole. */
  readonly conditional?: true;
  /**
   * True where it can change who may reach what: what it does to access is stored, the answer names the audit entry in
   * `Gatehouse-Event`, and `Gatehouse-Override-Reason` is taken.
   */
  readonly changesAccess?: true;
  /** True where `Gatehouse-Override-Reason` is taken although nobody's access is changed: what is written is a test of it. */
  readonly overridable?: true;
  /** True where no body at all means the same as `{}`. */
  readonly bodyOptional?: true;
  readonly success: Success;
  /** Codes beyond those that follow from the declaration itself: see `errorsOf`. */
  readonly errors?: readonly ErrorCode[];
}

/** Declares an operation, keeping its literal types. */
export function operation<const O extends Operation>(declaration: O): O {
  return declaration;
}

/** The validated body of an operation. */
export type BodyOf<O extends Operation> = O extends { readonly body: infer B extends TSchema } ? Static<B> : undefined;

/** The path parameters of an operation. */
export type ParametersOf<O extends Operation> = O extends { readonly parameters: infer P }
  ? { readonly [K in keyof P]: string }
  : Record<never, string>;

/** How long a body may be where its operation says nothing, in bytes: 1 MiB (contract). */
export const defaultBodyLimitBytes = 1_048_576;

/** How long the reason in `Gatehouse-Override-Reason` may be, in characters. */
export const maxReasonLength = 500;

/** The names of an operation's flags. */
export type FlagsOf<O extends Operation> = O extends { readonly flags: infer F } ? keyof F & string : never;

/** Whether the operation changes something. */
export function isWrite(declaration: Operation): boolean {
  return declaration.method !== "GET" && declaration.success.kind !== "report";
}

/** Whether what the operation would change can be previewed: who may reach what, in the caller's tenant. */
export function isPreviewable({ changesAccess, access }: Operation): boolean {
  return changesAccess === true && access !== "operator";
}

/** Whether the operation may be refused for the sake of access tests, unless the caller says why they may be broken. */
export function takesOverrideReason({ changesAccess, overridable }: Operation): boolean {
  return changesAccess === true || overridable === true;
}

/** Whether the operation may change what gateways enforce; then `?wait=applied` waits until they do. */
export function changesEnforcement({ changesAccess, access }: Operation): boolean {
  return changesAccess === true && access !== "operator";
}

/** How long `?wait=applied` waits where the query does not say, and at most, in seconds. */
export const defaultWaitSeconds = 10;
export const maxWaitSeconds = 60;

/** Whether `If-Match` is compared with the version of what the path names, or of the tenant as a whole. */
export function takesIfMatch({ method, parameters, conditional }: Operation): boolean {
  return method !== "GET" && (parameters !== undefined || conditional === true);
}

/** Every error code the operation can answer with, the common ones included, sorted. */
export function errorsOf(declaration: Operation): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>(["missing_api_key", "invalid_api_key", "permission_denied"]);
  for (const code of ["invalid_parameter", "internal_error", "database_unavailable"] as const) codes.add(code);
  for (const code of ["rate_limited", "too_many_failed_authentications"] as const) codes.add(code);
  if (declaration.access !== "operator") {
    for (const code of ["source_address_not_allowed", "session_ended", "foreign_origin"] as const) codes.add(code);
  }
  if (declaration.parameters !== undefined) codes.add("not_found");
  if (takesIfMatch(declaration)) codes.add("precondition_failed");
  if (declaration.method === "POST") codes.add("idempotency_key_reused");
  // Also where no body is declared: one that is sent is refused.
  if (declaration.method !== "GET") {
    for (const code of ["invalid_json", "invalid_body", "payload_too_large", "unsupported_media_type"] as const) {
      codes.add(code);
    }
  }
  if (takesOverrideReason(declaration)) codes.add("access_tests_broken");
  for (const code of declaration.errors ?? []) codes.add(code);
  return [...codes].sort();
}
