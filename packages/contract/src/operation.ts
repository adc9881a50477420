/**
 * An operation of the API as data. Validation, authorization, serialization, the OpenAPI document and the generated
 * tests are all derived from these declarations; no other source defines the API.
 */
import type { Static, TSchema } from "typebox";
import type { ErrorCode } from "./errors.ts";
import type { ListDeclaration } from "./list.ts";
import type { Permission } from "./permissions.ts";

/**
 * The required caller: a tenant key with the permission, any tenant key, a person in a session, or the operator of the
 * installation. An operation for any key authorizes its parts one by one. An operation for a person concerns only the
 * person's own records, and needs no permission.
 */
export type Access = Permission | "any-key" | "person" | "operator";

/**
 * The kind of a path parameter. A malformed `uuid` is an invalid request (400); a `string` that is not the id of a
 * record is simply not found (404).
 */
export type ParameterKind = "uuid" | "string";

/**
 * A named query parameter: one of `values`, or a string of at most `maxLength` characters. With neither, it is an
 * integer.
 */
export interface QueryParameter {
  readonly description: string;
  readonly values?: readonly string[];
  readonly maxLength?: number;
  /** The value if the parameter is omitted. */
  readonly default?: string;
}

/** A response of unknown length, sent while it is produced. */
export interface StreamSuccess {
  readonly status: 200;
  readonly kind: "stream";
  readonly description: string;
  readonly mediaTypes: readonly string[];
  readonly query: Readonly<Record<string, QueryParameter>>;
  /** Fields that `filter[field]` accepts, as in a list. */
  readonly filter: ListDeclaration["filter"];
  /** The response continues until either side closes the connection. */
  readonly live?: true;
}

/** The kind and schema of a successful response. */
export type Success =
  // `located`: the response has the Location of the created record, although the path names another record.
  | {
      readonly status: 200 | 201;
      readonly kind: "record";
      readonly body: TSchema;
      readonly located?: true;
      readonly query?: Readonly<Record<string, QueryParameter>>;
    }
  | { readonly status: 200 | 201; readonly kind: "records"; readonly body: TSchema }
  | {
      readonly status: 200;
      readonly kind: "page";
      readonly item: TSchema;
      readonly list: ListDeclaration;
      /** Additional query parameters of the list. */
      readonly query?: Readonly<Record<string, QueryParameter>>;
    }
  | { readonly status: 200; readonly kind: "array"; readonly item: TSchema }
  // A computed result that is not stored and has no version. A POST with this kind changes nothing.
  | {
      readonly status: 200;
      readonly kind: "report";
      readonly body: TSchema;
      readonly query?: Readonly<Record<string, QueryParameter>>;
    }
  | StreamSuccess
  | { readonly status: 200 | 204; readonly kind: "empty" };

export interface Operation {
  /** Stable, in camelCase, starting with a verb: the OpenAPI `operationId`, and the `operation` of audit entries. */
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path with parameters in braces, such as `/tenants/users/{id}`. */
  readonly path: `/${string}`;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** One entry for each parameter in `path`. */
  readonly parameters?: Readonly<Record<string, ParameterKind>>;
  /** Boolean query parameters with their descriptions; false if omitted. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly body?: TSchema;
  /** The largest body in bytes; 1 MiB by default. */
  readonly bodyLimitBytes?: number;
  /** The operation accepts `If-Match` although its path names no record, because it writes the whole tenant. */
  readonly conditional?: true;
  /**
   * The operation can change access. Its access impact is stored, the response names the audit entry in
   * `Gatehouse-Event`, and `Gatehouse-Override-Reason` is accepted.
   */
  readonly changesAccess?: true;
  /**
   * The operation accepts `Gatehouse-Override-Reason` although it does not change access, because it writes an access
   * test.
   */
  readonly overridable?: true;
  /** The reason why a write cannot be part of a change set, as the end of a sentence; see `isAllowedInSet`. */
  readonly refusedInSets?: string;
  /**
   * The operation reads or writes a whole tenant, and can take seconds. While other tenants are active, a replica
   * performs one such request of a tenant at a time.
   */
  readonly wholeTenant?: true;
  /** The operation performs other operations, so that neither previews nor change sets include it. */
  readonly composite?: true;
  /**
   * Why a person must have authenticated recently to call the operation, as the end of a sentence: it creates or shows
   * what outlives the session, or cannot be undone (docs/decisions/0279). Requests with an API key are exempt.
   */
  readonly dangerous?: string;
  /**
   * The operation is dangerous only if its body, or an item of it, has one of these fields with a value other than
   * false.
   */
  readonly dangerousWith?: readonly string[];
  /**
   * The operation is dangerous only if this is true of the record, as a clause after "if". The operation's command
   * evaluates this, and calls `requireRecentAuthentication`.
   */
  readonly dangerousIf?: string;
  /**
   * Why the operation is not dangerous although its request or response seems to contain a credential, or an address
   * that gets data. As the end of a sentence.
   */
  readonly harmless?: string;
  /** An omitted body is the same as `{}`. */
  readonly bodyOptional?: true;
  readonly success: Success;
  /** Error codes in addition to those that follow from the rest of the declaration; see `errorsOf`. */
  readonly errors?: readonly ErrorCode[];
}

/** Declares an operation, retaining its literal types. */
export function operation<const O extends Operation>(declaration: O): O {
  return declaration;
}

/** The named query parameters of an operation whose response is neither a list nor a stream. */
export function queryOf({ success }: Operation): Readonly<Record<string, QueryParameter>> {
  return (success.kind === "record" || success.kind === "report" ? success.query : undefined) ?? {};
}

/** The validated body of an operation. */
export type BodyOf<O extends Operation> = O extends { readonly body: infer B extends TSchema } ? Static<B> : undefined;

/** The path parameters of an operation. */
export type ParametersOf<O extends Operation> = O extends { readonly parameters: infer P }
  ? { readonly [K in keyof P]: string }
  : Record<never, string>;

/** The largest body of an operation without its own limit, in bytes: 1 MiB. */
export const defaultBodyLimitBytes = 1_048_576;

/** The longest reason in `Gatehouse-Override-Reason`, in characters. */
export const maxReasonLength = 500;

/** The names of an operation's flags. */
export type FlagsOf<O extends Operation> = O extends { readonly flags: infer F } ? keyof F & string : never;

/** Whether the operation changes data. */
export function isWrite(declaration: Operation): boolean {
  return declaration.method !== "GET" && declaration.success.kind !== "report";
}

/** Whether a change set can include the operation: a write to the caller's tenant that is not refused explicitly. */
export function isAllowedInSet(declaration: Operation): boolean {
  return isWrite(declaration) && isInTenant(declaration) && declaration.refusedInSets === undefined;
}

/**
 * Whether a preview can include the operation: a change set can, or it can change access. Nothing that a preview
 * creates remains, so that it also accepts operations that show a secret once.
 */
export function isPreviewable(declaration: Operation): boolean {
  return (
    isAllowedInSet(declaration) ||
    (declaration.changesAccess === true && isInTenant(declaration) && declaration.composite !== true)
  );
}

/** Whether the operation has its own permission in the caller's tenant. */
function isInTenant({ access }: Operation): boolean {
  return access !== "operator" && access !== "any-key" && access !== "person";
}

/** Whether a caller can give a reason to override access tests. Only administrators can. */
export function takesOverrideReason({ changesAccess, overridable, access }: Operation): boolean {
  return access !== "person" && (changesAccess === true || overridable === true);
}

/**
 * Whether the operation can change what gateways enforce. If so, `?wait=applied` waits until they have applied the
 * change.
 */
export function changesEnforcement({ changesAccess, access }: Operation): boolean {
  return changesAccess === true && access !== "operator";
}

/** How long `?wait=applied` waits: the default and the maximum, in seconds. */
export const defaultWaitSeconds = 10;
export const maxWaitSeconds = 60;

/** Whether the operation compares `If-Match` with the version of the record in the path, or of the whole tenant. */
export function takesIfMatch({ method, parameters, conditional }: Operation): boolean {
  return method !== "GET" && (parameters !== undefined || conditional === true);
}

/** Whether the operation compares `If-None-Match` with the tag of its response: lists do. */
export function isConditional({ method, success }: Operation): boolean {
  return method === "GET" && (success.kind === "page" || success.kind === "array");
}

/** Whether bodies that are not JSON get 415. In the AuthZEN API, they get 400. */
export function refusesOtherMediaTypes({ path }: Operation): boolean {
  return !path.startsWith("/access/v1/");
}

/** Whether a person must have authenticated recently to call the operation, with every body. */
export function isAlwaysDangerous({ dangerous, dangerousWith, dangerousIf }: Operation): boolean {
  return dangerous !== undefined && dangerousWith === undefined && dangerousIf === undefined;
}

/** Whether a person must have authenticated recently to call the operation with this body, for every record. */
export function isDangerous(declaration: Operation, body: unknown): boolean {
  const { dangerousWith } = declaration;
  if (dangerousWith === undefined) return isAlwaysDangerous(declaration);
  const items: readonly unknown[] = Array.isArray(body) ? body : [body];
  return items.some((item) =>
    dangerousWith.some((field) => {
      const value = typeof item === "object" && item !== null ? Reflect.get(item, field) : undefined;
      return value !== undefined && value !== false;
    }),
  );
}

/** Whether a person may have to authenticate again to call the operation with this body, depending on the record. */
export function mayBeDangerous(declaration: Operation, body: unknown): boolean {
  return declaration.dangerousIf !== undefined || isDangerous(declaration, body);
}

/**
 * Whether a person may have to authenticate again: for dangerous operations, for overriding access tests, and for
 * requests that contain dangerous operations.
 */
export function canRequireRecentAuthentication(declaration: Operation): boolean {
  const { dangerous, composite, access } = declaration;
  if (access === "operator") return false;
  return dangerous !== undefined || composite === true || takesOverrideReason(declaration) || access === "any-key";
}

/** Whether the operation names a record. */
function takesName(declaration: Operation): boolean {
  const { body } = declaration;
  return isWrite(declaration) && body !== undefined && "properties" in body && "name" in (body.properties as object);
}

/** Every error code that the operation can return, including the common ones, sorted. */
export function errorsOf(declaration: Operation): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>(["missing_api_key", "invalid_api_key", "permission_denied"]);
  for (const code of ["invalid_parameter", "internal_error", "database_unavailable", "secret_unreadable"] as const)
    codes.add(code);
  for (const code of ["rate_limited", "too_many_failed_authentications"] as const) codes.add(code);
  if (declaration.access !== "operator") {
    for (const code of ["source_address_not_allowed", "session_ended", "foreign_origin"] as const) codes.add(code);
  }
  if (canRequireRecentAuthentication(declaration)) codes.add("recent_authentication_required");
  if (declaration.parameters !== undefined) codes.add("not_found");
  if (takesIfMatch(declaration)) codes.add("precondition_failed");
  if (declaration.method === "POST") codes.add("idempotency_key_reused");
  if (declaration.method === "POST" && isWrite(declaration)) {
    for (const code of ["reply_too_large", "stored_replies_full"] as const) codes.add(code);
  }
  // Operations without a declared body also reject a body that is sent.
  if (declaration.method !== "GET") {
    for (const code of ["invalid_json", "invalid_body", "payload_too_large"] as const) codes.add(code);
    if (refusesOtherMediaTypes(declaration)) codes.add("unsupported_media_type");
  }
  if (takesName(declaration)) codes.add("invalid_name");
  if (declaration.changesAccess === true || takesOverrideReason(declaration)) codes.add("access_tests_broken");
  if (declaration.access === "person") codes.add("person_required");
  for (const code of declaration.errors ?? []) codes.add(code);
  return [...codes].sort();
}
