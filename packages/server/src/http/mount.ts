/** Mounts an operation: authentication, authorization, validation, the call and the reply, in the contract's order. */
import { createHash } from "node:crypto";
import type { ListDeclaration } from "@gatehouse/contract/list";
import {
  changesEnforcement,
  defaultBodyLimitBytes,
  defaultWaitSeconds,
  isAlwaysDangerous,
  isDangerous,
  isWrite,
  maxReasonLength,
  maxWaitSeconds,
  type Operation,
  type QueryParameter,
  queryOf,
  takesOverrideReason,
} from "@gatehouse/contract/operation";
import type { Permission } from "@gatehouse/contract/permissions";
import { finish, type Work } from "@gatehouse/policy/work";
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from "fastify";
import { AppError } from "../platform/app-error.ts";
import { authorize, type Granted } from "../platform/authorization/granted.ts";
import { requireRecentAuthentication, shownPermissions } from "../platform/authorization/recent-authentication.ts";
import { Call, type RequestFinder } from "../platform/call.ts";
import type { Clock } from "../platform/clock.ts";
import type { CommandRunner } from "../platform/command.ts";
import type { Pauses } from "../platform/db/paused-statements.ts";
import type { IdempotencyRequest } from "../platform/idempotency.queries.ts";
import { nilId } from "../platform/ids.ts";
import { hasLargeBody, withSerializedBody } from "../platform/json-slices.ts";
import {
  type ArrayCut,
  type ListQuery,
  type Parsed,
  paging,
  parseArrayCut,
  parseListQuery,
  type QueryParameters,
} from "../platform/list-query.ts";
import type { Outcome } from "../platform/outcome.ts";
import { cutOutcome } from "./array-cut.ts";
import { type AuthenticationOptions, authenticationOf, authorizeAgain } from "./authentication.ts";
import { type LargeBody, noTenant } from "./bodies.ts";
import { type BodyMemory, bodyLengthOf } from "./body-memory.ts";
import type { Caller } from "./caller.ts";
import { clientAddress } from "./client-address.ts";
import { disconnectSignal, onceClosed } from "./client-disconnect.ts";
import { within } from "./observation.ts";
import { canonicalIds, checkStringIds, checkUuids, type PathParameters } from "./path-parameters.ts";
import { replyWithOutcome, replyWithPrepared } from "./replies.ts";
import { cacheControlOf } from "./response-headers.ts";
import type { Route } from "./route.ts";
import { endTurn } from "./stream-turns.ts";
import { holdUnsent, requireUnsentRoom } from "./unsent-of-callers.ts";
import { compileBodyCheck, findNul, requireNoNul } from "./validation.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set for every operation before the body is read. */
    caller: Caller | undefined;
  }
}

/** The progress of gateways in applying a change. */
export interface AppliedProof {
  readonly generation: number;
  readonly gateways: number;
  readonly missing: readonly { readonly gatewayId: string; readonly state: string }[];
}

/** Waits until the tenant's gateways enforce the latest change, or until the timeout. */
export type AwaitApplied = (
  tenantId: string,
  requestId: string,
  timeoutMs: number,
  left: AbortSignal,
) => Promise<AppliedProof>;

export interface MountOptions extends AuthenticationOptions {
  /** Undefined if gateways are not served. */
  readonly awaitApplied?: AwaitApplied | undefined;
  readonly runner: CommandRunner;
  /** Finds the operations of requests inside a request. */
  readonly plannedRequests: RequestFinder;
  readonly clock: Clock;
  readonly bodies: BodyMemory;
}

/** After a larger answer, requests of the same operation and tenant are long requests (docs/decisions/0244). */
const largeAnswerBytes = 1_048_576;

export function mount(app: FastifyInstance, { operation, handler }: Route, options: MountOptions): void {
  const bodyChecks = compileBodyCheck(operation);
  const cacheControl = cacheControlOf(operation);
  app.route({
    method: operation.method,
    // HEAD would open the stream and produce it without a reader.
    exposeHeadRoute: operation.success.kind !== "stream",
    url: operation.path.replaceAll(/\{(\w+)\}/g, ":$1"),
    bodyLimit: bodyLimitOf(operation),
    // 401, 403 and 429 are sent before the body is read.
    onRequest: onRequestOf(operation, options),
    handler: (request, reply) => within(request, () => perform(request, reply)),
  });

  /** The result for requests without a query, which most reads of a record are. */
  let unasked: CheckedQuery | undefined;
  function checkedQuery(parameters: QueryParameters): CheckedQuery {
    for (const _name in parameters) return checkQuery(operation, parameters);
    unasked ??= checkQuery(operation, parameters);
    return unasked;
  }

  async function perform(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { caller } = request;
    if (caller === undefined) throw new AppError("missing_api_key");
    const parameters = canonicalIds(request.params as PathParameters); // path parameters are strings
    checkUuids(operation, parameters);
    const { waitMs, rest } = requireWait(operation, request.query as QueryParameters); // query parameters are strings and lists of strings
    const { listQuery, cut, flags, query } = checkedQuery(rest);
    const hasIdempotency = operation.method === "POST" && request.headers["idempotency-key"] !== undefined;
    const idempotency = hasIdempotency
      ? await idempotencyOf(request, caller, [...flags, ...Object.values(query)])
      : undefined;
    const overrideReason = overrideReasonOf(operation, request);
    const { largeBody } = request;
    if (largeBody === undefined) {
      checkSmallBody(request, caller);
    } else await inSlices(caller, checkLargeBody(request.body, largeBody));
    checkStringIds(operation, parameters);
    // Operations that are always dangerous were checked before the body arrived.
    if (!isAlwaysDangerous(operation) && isDangerous(operation, request.body)) {
      requireRecentAuthentication(caller, options.clock.now());
    }
    // The time of a call is the time at which its turn starts.
    const callNow = (caller: Caller, pauses: Pauses | undefined) =>
      new Call<Operation>(
        {
          runner: options.runner,
          plannedRequests: options.plannedRequests,
          operation,
          parameters,
          body: request.body ?? (operation.bodyOptional === true ? {} : undefined),
          listQuery,
          flags,
          query,
          lastEventId: headerText(request.headers["last-event-id"]),
          authorizeAgain: () => authorizeAgain(operation, options.authenticator, request),
          actor: caller.actor,
          permissions: caller.permissions,
          shownPermissions: shownPermissions(caller, operation, options.clock.now()),
          limits: caller.limits,
          session: caller.session,
          requireValidCredential: (tx) => options.authenticator.requireValid(tx, caller),
          requireRecentAuthentication: () => requireRecentAuthentication(caller, options.clock.now()),
          tenantId: caller.tenantId,
          requestId: request.id,
          sourceAddress: clientAddress(request),
          ifMatch: request.headers["if-match"],
          overrideReason,
          idempotency,
          pauses,
          now: options.clock.now(),
        } as ConstructorParameters<typeof Call<Operation>>[0], // the body was just validated against the declaration
        grantedTo(operation, caller),
      );
    const outcome = await inTurn(caller, reply, async (current, pauses) => {
      // The request may have waited since its first check.
      requireUnsentRoom(reply);
      const answered = await handler(callNow(current, pauses));
      const { tenantId } = caller;
      if (tenantId !== undefined && answered.kind === "prepared" && answered.answer.length > largeAnswerBytes) {
        options.runner.pace.answeredLargely(tenantId, operation.id);
      }
      // Before it is hashed and compressed.
      if (answered.kind === "prepared" && answered.answer.isLarge) holdUnsent(reply, answered.answer.content());
      const serialized = hasLargeBody(answered) ? await inSlices(caller, withSerializedBody(answered)) : answered;
      reply.header("cache-control", cacheControl(current.permissions.has("gateways:token")));
      return serialized;
    });
    // A preview changes nothing that gateways could apply.
    if (waitMs !== undefined && !flags.has("preview")) {
      // The rest takes almost no work, so the other requests of the connection need not wait for gateways.
      endTurn(reply.raw);
      await proveApplied(caller, waitMs, reply);
    }
    const slicing = <Result>(work: Work<Result>) => inSlices(caller, work);
    if (outcome.kind === "prepared") return replyWithPrepared(operation, outcome.answer, reply, slicing);
    return replyWithOutcome(operation, await cutOutcome(outcome, cut, reply), reply, slicing);
  }

  /**
   * Calls `answer` at its turn. Authorizes the request again if it waited for its body or its turn: the key may have
   * been revoked, or the person may have lost a role.
   */
  async function inTurn(
    caller: Caller,
    reply: FastifyReply,
    answer: (caller: Caller, pauses?: Pauses) => Promise<Outcome>,
  ): Promise<Outcome> {
    const { tenantId } = caller;
    if (tenantId === undefined) return answer(caller);
    const { pace } = options.runner;
    const answerAgain = async (pauses?: Pauses) =>
      answer(await authorizeAgain(operation, options.authenticator, reply.request), pauses);
    if (operation.wholeTenant === true || pace.mayAnswerLargely(tenantId, operation.id)) {
      return pace.longTurn(tenantId, takePlace(reply), answerAgain);
    }
    // A large body waited for the turn.
    const turn = reply.request.isBodyCharged ? undefined : pace.turn(tenantId);
    // A request with a body was authorized before its body arrived.
    if (turn === undefined && operation.method === "GET") return answer(caller);
    await turn;
    return answerAgain();
  }

  async function idempotencyOf(
    request: FastifyRequest,
    caller: Caller,
    parameters: readonly string[],
  ): Promise<IdempotencyRequest> {
    const key = request.headers["idempotency-key"];
    if (typeof key !== "string" || key.length === 0 || key.length > 255) {
      throw new AppError("invalid_parameter", { detail: "Idempotency-Key must have 1 to 255 characters." });
    }
    const path = request.url.split("?", 1)[0] ?? "";
    const hashing = (body: Buffer) => requestHash([operation.id, path, ...parameters, ""].join("\n"), body);
    return {
      tenantId: caller.tenantId ?? nilId,
      callerId: caller.actor.id ?? nilId,
      keyHash: createHash("sha256").update(key).digest(),
      // A repeated request consists of the same bytes.
      requestHash:
        request.largeBody === undefined
          ? finish(hashing(Buffer.from(request.bodyText ?? "")))
          : await inSlices(caller, hashing(request.largeBody.bytes)),
      storesReply: isWrite(operation),
    };
  }

  function checkSmallBody(request: FastifyRequest, { tenantId }: Caller): void {
    const check = () => {
      bodyChecks.check(request.body, request.bodyText?.length ?? 0);
      requireNoNul(request.body, request.bodyText);
    };
    if (tenantId !== undefined && request.isBodyCharged) options.runner.pace.readBody(tenantId, check);
    else check();
  }

  function* checkLargeBody(body: unknown, { mayHaveNul }: LargeBody): Work<void> {
    yield* bodyChecks.checkLarge(body);
    if (mayHaveNul) yield* findNul(body);
  }

  function inSlices<Result>({ tenantId = noTenant }: Caller, work: Work<Result>): Promise<Result> {
    return options.runner.evaluator.decide(tenantId, work);
  }

  /**
   * Adds the headers for `?wait=applied`. The change is already committed, so a failure here must not fail the request.
   */
  async function proveApplied({ tenantId }: Caller, waitMs: number, reply: FastifyReply): Promise<void> {
    if (tenantId === undefined || options.awaitApplied === undefined) return;
    try {
      describeProof(reply, await options.awaitApplied(tenantId, reply.request.id, waitMs, disconnectSignal(reply)));
    } catch (error) {
      reply.log.warn(
        { requestId: reply.request.id, err: error },
        "could not determine whether gateways applied the change",
      );
      reply.header("Gatehouse-Enforced", "unknown");
    }
  }
}

/** Functions that end the reservations of long requests whose bodies are being received. */
const reservations = new WeakMap<FastifyRequest, () => void>();

/**
 * Authenticates a request before its body is read. Also refuses requests and bodies that exceed the tenant's memory,
 * and long requests for which the queue has no room.
 */
function onRequestOf(operation: Operation, options: MountOptions): onRequestHookHandler[] {
  const authentication = authenticationOf(operation, options);
  const limit = bodyLimitOf(operation);
  return [
    authentication,
    (request, reply, done) => {
      requireUnsentRoom(reply);
      const tenantId = request.caller?.tenantId;
      const length = operation.method === "GET" ? 0 : bodyLengthOf(request, limit);
      // A longer body is refused before it is read.
      if (tenantId === undefined || length > limit) return done();
      if (length > 0) onceClosed(reply, options.bodies.hold(tenantId, length));
      if (operation.wholeTenant === true) {
        const release = options.runner.pace.reserve(tenantId);
        reservations.set(request, release);
        onceClosed(reply, release);
      }
      done();
    },
  ];
}

const bodyLimitOf = (operation: Operation) => operation.bodyLimitBytes ?? defaultBodyLimitBytes;

/** Ends the reservation of a request that is about to join the queue. Returns the signal that its client has gone. */
function takePlace(reply: FastifyReply): AbortSignal {
  reservations.get(reply.request)?.();
  return disconnectSignal(reply);
}

/** Reads `wait` and `timeout`. Returns the wait in milliseconds and the other parameters. */
function requireWait(
  operation: Operation,
  parameters: QueryParameters,
): { readonly waitMs?: number; readonly rest: QueryParameters } {
  if (parameters.wait === undefined || !changesEnforcement(operation)) return { rest: parameters };
  const { wait, timeout = String(defaultWaitSeconds), ...rest } = parameters;
  if (wait !== "applied") throw invalidParameter("wait", 'must be "applied" or omitted');
  const seconds = typeof timeout === "string" && /^\d{1,3}$/.test(timeout) ? Number(timeout) : Number.NaN;
  if (!(seconds >= 1 && seconds <= maxWaitSeconds)) {
    throw invalidParameter("timeout", `must be an integer from 1 to ${maxWaitSeconds}, in seconds`);
  }
  return { waitMs: seconds * 1_000, rest };
}

/** The most gateways that a header lists. */
const maxListed = 50;

function describeProof(reply: FastifyReply, { generation, gateways, missing }: AppliedProof): void {
  const state = missing.length === 0 ? "applied" : "incomplete";
  const counts = `generation=${generation};gateways=${gateways};missing=${missing.length}`;
  reply.header("Gatehouse-Enforced", `${state};${counts}`);
  if (missing.length === 0) return;
  const named = missing.slice(0, maxListed).map(({ gatewayId, state: how }) => `"${gatewayId}";state=${how}`);
  reply.header("Gatehouse-Not-Enforced", named.join(", "));
}

function grantedTo(operation: Operation, caller: Caller): Granted<Permission> {
  // Operator operations have no tenant permission, and their queries require none. Operations for any key authorize
  // their parts, and operations for a person concern the person's own records.
  return operation.access === "operator" || operation.access === "any-key" || operation.access === "person"
    ? (undefined as unknown as Granted<Permission>)
    : authorize(caller.permissions, operation.access);
}

interface CheckedQuery {
  readonly listQuery?: ListQuery;
  /** The part of an array to return; undefined for the whole array. */
  readonly cut?: ArrayCut | undefined;
  readonly flags: ReadonlySet<string>;
  /** The parameters that the operation declares by name. */
  readonly query: Readonly<Record<string, string>>;
}

const noFlags: ReadonlySet<string> = new Set();

function checkQuery(operation: Operation, parameters: QueryParameters): CheckedQuery {
  const { success, flags = {} } = operation;
  if (success.kind === "page") {
    const { query, rest } = requireNamed(success.query ?? {}, parameters);
    return { listQuery: requireListQuery(success.list, rest), flags: noFlags, query };
  }
  if (success.kind === "stream") {
    const { query, rest } = requireNamed(success.query, parameters);
    const other = Object.keys(rest).find((name) => !name.startsWith("filter["));
    if (other !== undefined) throw unknownParameter(other);
    return { listQuery: requireListQuery({ sort: [], filter: success.filter }, rest), flags: noFlags, query };
  }
  const { query, rest } = requireNamed(queryOf(operation), parameters);
  const isArray = success.kind === "array";
  const unknown = Object.keys(rest).find((name) => !Object.hasOwn(flags, name) && !(isArray && paging.has(name)));
  if (unknown !== undefined) throw unknownParameter(unknown);
  const cut = isArray ? requireParsed(parseArrayCut(parameters)) : undefined;
  return { cut, flags: new Set(Object.keys(flags).filter((name) => readFlag(name, parameters[name]))), query };
}

/** `?groups` is the same as `?groups=true`. */
function readFlag(name: string, value: QueryParameters[string]): boolean {
  if (value === undefined || value === "false") return false;
  if (value === "" || value === "true") return true;
  throw new AppError("invalid_parameter", {
    detail: `${JSON.stringify(value).slice(0, 80)} is not a valid ${name}. Use true or false, once.`,
    errors: [{ pointer: name, message: "must be true or false" }],
  });
}

function requireListQuery(declaration: ListDeclaration, parameters: QueryParameters): ListQuery {
  return requireParsed(parseListQuery(declaration, parameters));
}

function requireParsed<T>(parsed: Parsed<T>): T {
  if (parsed.ok) return parsed.value;
  throw invalidParameter(parsed.problem.parameter, parsed.problem.message);
}

/** Extracts the declared parameters from the query; the others can be filters. */
function requireNamed(
  declared: Readonly<Record<string, QueryParameter>>,
  parameters: QueryParameters,
): { readonly query: Readonly<Record<string, string>>; readonly rest: QueryParameters } {
  const query: Record<string, string> = {};
  const rest: Record<string, QueryParameters[string]> = { ...parameters };
  for (const [name, { values, maxLength, default: fallback }] of Object.entries(declared)) {
    const text = parameters[name] ?? fallback;
    delete rest[name];
    if (text === undefined) continue;
    if (typeof text !== "string") throw invalidParameter(name, "must be given once");
    if (text.includes("\0")) throw invalidParameter(name, "must not contain the NUL character");
    if (maxLength !== undefined) {
      if (text === "" || text.length > maxLength)
        throw invalidParameter(name, `must have 1 to ${maxLength} characters, not ${text.length}`);
    } else if (!(values?.includes(text) ?? /^\d{1,15}$/.test(text))) {
      throw invalidParameter(name, `must be ${values?.join(" or ") ?? "an integer"}, once`);
    }
    query[name] = text;
  }
  return { query, rest };
}

function invalidParameter(name: string, message: string): AppError {
  const parameter = name.slice(0, 200);
  return new AppError("invalid_parameter", {
    detail: `${parameter} ${message}.`,
    errors: [{ pointer: parameter, message }],
  });
}

function unknownParameter(name: string): AppError {
  return new AppError("invalid_parameter", {
    detail: `The operation has no query parameter ${JSON.stringify(name.slice(0, 80))}.`,
    errors: [{ pointer: name.slice(0, 200), message: "is not a parameter of this operation" }],
  });
}

function headerText(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === "string" && header !== "" ? header : undefined;
}

const reasonHeader = "Gatehouse-Override-Reason";

/** @throws AppError invalid_parameter */
function overrideReasonOf(operation: Operation, request: FastifyRequest): string | undefined {
  const given = request.headers["gatehouse-override-reason"];
  if (given === undefined || !takesOverrideReason(operation)) return undefined;
  const text = typeof given === "string" ? headerInUtf8(given).trim() : "";
  const length = [...text].length;
  if (length === 0 || length > maxReasonLength) {
    throw invalidParameter(reasonHeader, `must have 1 to ${maxReasonLength} characters, not ${length}`);
  }
  // The reason is shown in terminals, where control characters have effects and direction marks change the visible
  // text.
  if (/[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(text)) {
    throw invalidParameter(reasonHeader, "must not contain control characters");
  }
  if (!/[\p{L}\p{N}]/u.test(text)) throw invalidParameter(reasonHeader, "must contain a letter or a digit");
  return text;
}

/** Decodes a header as UTF-8. Node decodes header values as Latin-1, but most clients send UTF-8. */
function headerInUtf8(text: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(text, "latin1"));
  } catch {
    return text;
  }
}

/** The bytes that are hashed at once. */
const hashedAtOnce = 131_072;

function* requestHash(head: string, body: Buffer): Work<Buffer> {
  const hash = createHash("sha256").update(head);
  for (let start = 0; start < body.length; start += hashedAtOnce) {
    const part = body.subarray(start, start + hashedAtOnce);
    hash.update(part);
    yield part.length / 8;
  }
  return hash.digest();
}
