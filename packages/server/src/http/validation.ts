/** Validates bodies against the schemas of the operations, and describes the errors. */
import { isEmail } from "@gatehouse/contract/email";
import type { Operation } from "@gatehouse/contract/operation";
import type { ProblemField } from "@gatehouse/contract/problem";
import {
  componentKeyword,
  documentedKeyword,
  referenceKeyword,
  trimKeyword,
  validatedLaterKeyword,
} from "@gatehouse/contract/schema";
import { finish, type Work } from "@gatehouse/policy/work";
import { Ajv, type AnySchemaObject, type ErrorObject, type ValidateFunction } from "ajv";
import addFormatsModule from "ajv-formats";
import type { TSchema } from "typebox";
import { AppError, reportedFields } from "../platform/app-error.ts";
import { isTimestamp } from "../platform/timestamps.ts";
import { LargeBodyCheck } from "./large-body-check.ts";

/** Longer bodies get only their first error, because finding all errors is slow. In characters. */
const maxThoroughLength = 65_536;

// TypeScript and Node disagree on the default export of this CommonJS package.
const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default;

/** Finds every error of a body. */
const thorough = createAjv(true);
/** Finds the first error of a body. */
const quick = createAjv(false);

function createAjv(allErrors: boolean): Ajv {
  const instance = new Ajv({
    allErrors,
    strict: false,
    // Numbers out of range parse as Infinity, which neither JSON nor a column can represent.
    strictNumbers: true,
    ownProperties: true,
    verbose: true,
  });
  addFormats(instance, ["uuid", "uri-reference"]);
  instance.addFormat("date-time", { type: "string", validate: isTimestamp });
  instance.addFormat("email", { type: "string", validate: isEmail });
  instance.addKeyword({
    keyword: trimKeyword,
    type: "string",
    schemaType: "boolean",
    modifying: true,
    errors: false,
    // The keyword must run before the length is checked.
    before: "maxLength",
    validate: (
      _on: boolean,
      text: string,
      _schema: unknown,
      context?: { parentData: unknown; parentDataProperty: string | number },
    ) => {
      const holder = context?.parentData;
      if (holder !== null && typeof holder === "object")
        Reflect.set(holder, context?.parentDataProperty ?? "", text.trim());
      return true;
    },
  });
  instance.addKeyword(componentKeyword);
  instance.addKeyword(referenceKeyword);
  instance.addKeyword(documentedKeyword);
  return instance;
}

/** A check for the routes of sign-in, and for tests of responses. It is compiled at its first use. */
export function compileCheck(schema: TSchema): (value: unknown) => readonly ProblemField[] {
  let check: ValidateFunction | undefined;
  return (value) => {
    check ??= thorough.compile(schema);
    return check(value) ? [] : describe(check.errors ?? []);
  };
}

/**
 * The two forms of a body: a single value or an array. The body's type selects the form, so errors need not mention
 * both.
 */
interface Forms {
  readonly whole: ValidateFunction;
  readonly single?: ValidateFunction;
  readonly list?: ValidateFunction;
}

function formSchemas(schema: TSchema): { readonly single: TSchema | undefined; readonly list: TSchema | undefined } {
  const branches = "anyOf" in schema && Array.isArray(schema.anyOf) ? (schema.anyOf as TSchema[]) : []; // JSON Schema
  return {
    single: branches.find((branch) => "type" in branch && branch.type === "object"),
    list: branches.find((branch) => "type" in branch && branch.type === "array"),
  };
}

function compileForms(ajv: Ajv, schema: TSchema): Forms {
  const { single, list } = formSchemas(schema);
  return {
    whole: ajv.compile(schema),
    ...(single === undefined ? {} : { single: ajv.compile(single) }),
    ...(list === undefined ? {} : { list: ajv.compile(list) }),
  };
}

/**
 * Compiles the check of an operation's body. The check trims strings in place that are declared to be trimmed.
 *
 * @throws the checks: AppError invalid_json, invalid_body
 */
export function compileBodyCheck(operation: Operation): BodyChecks {
  const known = bodyChecks.get(operation);
  if (known !== undefined) return known;
  const check = newBodyCheck(operation);
  bodyChecks.set(operation, check);
  return check;
}

/**
 * Compiles the checks of operations, before the server listens. A check that is compiled during a request blocks the
 * event loop for up to 160 ms.
 */
export function prepareBodyChecks(operations: Iterable<Operation>): void {
  for (const operation of operations) compileBodyCheck(operation).prepare();
}

/** The check of an operation's body. */
export interface BodyChecks {
  /** Compiles the check, unless it is compiled already. */
  prepare(): void;
  /** @param characters the length of the body as JSON */
  check(body: unknown, characters: number): void;
  /** Checks a large body in slices. */
  checkLarge(body: unknown): Work<void>;
}

/** Compiled checks are shared, because compiling is slow. */
const bodyChecks = new WeakMap<Operation, BodyChecks>();

function newBodyCheck(operation: Operation): BodyChecks {
  if (operation.body === undefined) {
    return {
      prepare: () => undefined,
      check: rejectBody,
      *checkLarge(body) {
        yield 1;
        rejectBody(body);
      },
    };
  }
  const checks = checksOf(operation.body);
  return {
    prepare: () => checks.prepare(operation.bodyLimitBytes !== undefined),
    check(body, characters) {
      if (body === undefined) {
        if (operation.bodyOptional === true) return;
        throw new AppError("invalid_json", { detail: "The operation requires a JSON body." });
      }
      const forms = checks.formsFor(characters);
      const check = (Array.isArray(body) ? forms.list : forms.single) ?? forms.whole;
      if (!check(body)) throw invalidBody(check.errors ?? []);
    },
    *checkLarge(body) {
      const errors = yield* checks.errorsOfLarge(body);
      if (errors.length > 0) throw invalidBody(errors);
    },
  };
}

/** The checks of a schema. Operations with the same body share them. */
interface SchemaChecks {
  /** @param isLarge whether bodies can be large */
  prepare(isLarge: boolean): void;
  /** @param characters the length of the body as JSON */
  formsFor(characters: number): Forms;
  errorsOfLarge(body: unknown): Work<readonly ErrorObject[]>;
}

const schemaChecks = new WeakMap<TSchema, SchemaChecks>();

function checksOf(body: TSchema): SchemaChecks {
  const known = schemaChecks.get(body);
  if (known !== undefined) return known;
  const schema = withoutLaterParts(body) as TSchema; // a schema with fewer conditions
  // Compiled at first use: compiling every operation would dominate the start of a test server.
  let ofSmall: Forms | undefined;
  let ofLarge: Forms | undefined;
  const ofParts = new LargeBodyCheck((part) => quick.compile(part));
  const { single, list } = formSchemas(schema);
  const checks: SchemaChecks = {
    prepare(isLarge) {
      checks.formsFor(0);
      checks.formsFor(maxThoroughLength + 1);
      if (isLarge) for (const form of new Set([single ?? schema, list ?? schema])) ofParts.prepare(form);
    },
    formsFor(characters) {
      if (characters > maxThoroughLength) {
        ofLarge ??= compileForms(quick, schema);
        return ofLarge;
      }
      ofSmall ??= compileForms(thorough, schema);
      return ofSmall;
    },
    errorsOfLarge: (large) => ofParts.check((Array.isArray(large) ? list : single) ?? schema, large),
  };
  schemaChecks.set(body, checks);
  return checks;
}

function invalidBody(found: readonly ErrorObject[]): AppError {
  const errors = describe(found);
  return new AppError("invalid_body", {
    ...(errors.length === 0 ? { detail: "The body does not match the schema." } : {}),
    errors,
  });
}

/** The schema without the conditions of parts that the operation validates itself. */
function withoutLaterParts(schema: unknown): unknown {
  if (schema === null || typeof schema !== "object" || Array.isArray(schema)) return schema;
  if (validatedLaterKeyword in schema) return {};
  const { properties, items } = schema as { readonly properties?: object; readonly items?: unknown };
  if (properties === undefined && items === undefined) return schema;
  const parts = Object.entries(properties ?? {}).map(([name, part]) => [name, withoutLaterParts(part)]);
  return {
    ...schema,
    ...(properties === undefined ? {} : { properties: Object.fromEntries(parts) }),
    ...(items === undefined ? {} : { items: withoutLaterParts(items) }),
  };
}

/** The cost of searching an object, in rule-cost units. */
const nulSearchCost = 20;

/**
 * Rejects NUL characters, which PostgreSQL cannot store. Schemas reject them only in some fields.
 *
 * @param text the body as JSON, in which NUL is always escaped
 * @throws AppError invalid_body
 */
export function requireNoNul(body: unknown, text: string | undefined): void {
  if (text?.includes("\\u0000") !== true) return;
  finish(findNul(body));
}

/**
 * Like `requireNoNul`, in slices.
 *
 * @throws the work: AppError invalid_body
 */
export function* findNul(body: unknown): Work<void> {
  const pointer = yield* pointerToNul(body);
  if (pointer === undefined) return;
  throw new AppError("invalid_body", { errors: [{ pointer, message: "must not contain the NUL character" }] });
}

/** The JSON Pointer of the first string or key with a NUL character. Bodies are not nested deeply. */
function* pointerToNul(value: unknown): Work<string | undefined> {
  if (typeof value === "string") return value.includes("\0") ? "" : undefined;
  if (value === null || typeof value !== "object") return undefined;
  yield nulSearchCost;
  for (const key of Object.keys(value)) {
    if (key.includes("\0")) return "";
    const pointer = yield* pointerToNul((value as Readonly<Record<string, unknown>>)[key]);
    if (pointer !== undefined) return `/${pointerToken(key)}${pointer}`;
  }
  return undefined;
}

/** Accepts an empty body or `{}` for operations without a body. Any field is unknown. */
function rejectBody(body: unknown): void {
  if (body === undefined || body === null) return;
  const [field] = typeof body === "object" ? Object.keys(body) : [];
  if (typeof body === "object" && !Array.isArray(body) && field === undefined) return;
  const errors =
    field === undefined || Array.isArray(body) ? [] : [{ pointer: `/${pointerToken(field)}`, message: "is unknown" }];
  throw new AppError("invalid_body", { detail: "The operation has no body. Send none.", errors });
}

/** Encodes a JSON Pointer token (RFC 6901, section 3). */
function pointerToken(token: string): string {
  return token.slice(0, 200).replaceAll("~", "~0").replaceAll("/", "~1");
}

function describe(allErrors: readonly ErrorObject[]): ProblemField[] {
  // One error is clearer than the errors of each form of a value.
  const matchesNoForm = new Set(
    allErrors.filter(({ keyword }) => keyword === "anyOf").map(({ instancePath }) => instancePath),
  );
  const errors = allErrors.filter(
    ({ keyword, instancePath }) => keyword === "anyOf" || !matchesNoForm.has(instancePath),
  );
  const fields = new Map<string, string>();
  for (const error of errors) {
    const field = describeOne(error);
    if (field !== undefined && !fields.has(field.pointer)) fields.set(field.pointer, field.message);
    if (fields.size === reportedFields) break;
  }
  return [...fields].map(([pointer, message]) => ({ pointer, message }));
}

function describeOne(error: ErrorObject): ProblemField | undefined {
  const { instancePath: at, params, parentSchema } = error;
  switch (error.keyword) {
    // The branches or the declaration's description explain the error.
    case "anyOf":
      return {
        pointer: at,
        message: `does not match: ${String(parentSchema?.description ?? error.message)}`,
      };
    case "additionalProperties":
      return {
        pointer: `${at}/${pointerToken(String(params.additionalProperty))}`,
        message: "is not a field of this operation",
      };
    case "required":
      return { pointer: `${at}/${pointerToken(String(params.missingProperty))}`, message: "is required" };
    case "propertyNames":
      return {
        pointer: `${at}/${pointerToken(String(params.propertyName))}`,
        message: "is not a valid name. Use 1 to 64 characters without control characters",
      };
    case "enum":
      return { pointer: at, message: mustBe(params.allowedValues as unknown[]) };
    case "pattern":
      return { pointer: at, message: patternMessage(parentSchema) };
    case "format":
      return {
        pointer: at,
        message: formatMessages[String(params.format)] ?? `must have the format ${params.format}`,
      };
    case "minLength":
      return {
        pointer: at,
        message: params.limit === 1 ? "must not be empty" : `must have at least ${params.limit} characters`,
      };
    case "maxLength":
      return { pointer: at, message: `must have at most ${params.limit} characters` };
    default:
      return { pointer: at, message: error.message ?? "is not valid" };
  }
}

const formatMessages: Readonly<Record<string, string>> = {
  uuid: "must be a UUID",
  email: "must be an email address",
  "date-time": "must be a time in ISO 8601, such as 2026-01-31T12:00:00.000Z",
};

function mustBe(allowed: readonly unknown[]): string {
  return allowed.length === 1 ? `must be ${allowed[0]}` : `must be one of ${allowed.join(", ")}`;
}

function patternMessage(schema: AnySchemaObject | undefined): string {
  if (String(schema?.pattern).startsWith("^[^\\u0000")) return "must not contain control characters";
  return typeof schema?.description === "string"
    ? `must be: ${schema.description}`
    : "does not match the declared format";
}
