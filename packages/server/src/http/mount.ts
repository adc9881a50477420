/** Mounts an operation: authentication, authorization, validation, the call, the reply; in the order the contract sets. */
import { createHash } from "node:crypto";
import { defaultBodyLimitBytes, type Operation } from "@gatehouse/contract/operation";
import type { Permission } from "@gatehouse/contract/permissions";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";
import { authorize, type Granted } from "../platform/authorization/granted.ts";
import { Call } from "../platform/call.ts";
import type { Clock } from "../platform/clock.ts";
import type { CommandRunner } from "../platform/command.ts";
import type { IdempotencyRequest } from "../platform/idempotency.queries.ts";
import { isUuid } from "../platform/ids.ts";
import { type ListQuery, parseListQuery, type QueryParameters } from "../platform/list-query.ts";
import { type AuthenticationOptions, authenticationOf } from "./authentication.ts";
import type { Caller } from "./caller.ts";
import { within } from "./observation.ts";
import { replyWithOutcome } from "./replies.ts";
import type { Route } from "./route.ts";
import { compileBodyCheck } from "./validation.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set before the body is read, for every operation. */
    caller: Caller | undefined;
  }
}

export interface MountOptions extends AuthenticationOptions {
  readonly runner: CommandRunner;
  readonly clock: Clock;
}

const nilUuid = "00000000-0000-0000-0000-000000000000";

type Parameters = Readonly<Record<string, string>>;

export function mount(app: FastifyInstance, { operation, handler }: Route, options: MountOptions): void {
  const checkBody = compileBodyCheck(operation);
  app.route({
    method: operation.method,
    url: operation.path.replaceAll(/\{(\w+)\}/g, ":$1"),
    bodyLimit: operation.bodyLimitBytes ?? defaultBodyLimitBytes,
    // 401 and 403 come before anything of the body is read or judged.
    onRequest: authenticationOf(operation, options),
    handler: (request, reply) => within(request, () => perform(request, reply)),
  });

  async function perform(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { caller } = request;
    if (caller === undefined) throw new AppError("missing_api_key");
    const parameters = canonicalIds(request.params as Parameters); // the router gives texts
    checkUuids(operation, parameters);
    const { listQuery, flags } = checkQuery(operation, request.query as QueryParameters); // the parser gives texts and lists
    const idempotency = idempotencyOf(operation, request, caller);
    checkBody(request.body, request.bodyText?.length ?? 0);
    checkStringIds(operation, parameters);
    const call = new Call<Operation>(
      {
        runner: options.runner,
        operation,
        parameters,
        body: request.body ?? (operation.bodyOptional === true ? {} : undefined),
        listQuery,
        flags,
        actor: caller.actor,
        permissions: caller.permissions,
        limits: caller.limits,
        tenantId: caller.tenantId,
        requestId: request.id,
        sourceAddress: request.ip,
        ifMatch: request.headers["if-match"],
        idempotency,
        now: options.clock.now(),
      } as ConstructorParameters<typeof Call<Operation>>[0], // the body was just checked against the declaration
      grantedTo(operation, caller),
    );
    return replyWithOutcome(operation, await handler(call), reply);
  }
}

function grantedTo(operation: Operation, caller: Caller): Granted<Permission> {
  // Operations of the operator have no tenant permission to prove; their queries ask for none.
  return operation.access === "operator"
    ? (undefined as unknown as Granted<Permission>)
    : authorize(caller.permissions, operation.access);
}

/** Ids as they are stored and told: in lower case (RFC 9562, section 4). */
function canonicalIds(parameters: Parameters): Parameters {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, isUuid(value) ? value.toLowerCase() : value]),
  );
}

function checkUuids(operation: Operation, parameters: Parameters): void {
  for (const [name, kind] of Object.entries(operation.parameters ?? {})) {
    const value = parameters[name] ?? "";
    if (kind === "uuid" && !isUuid(value)) {
      throw new AppError("invalid_parameter", {
        detail: `The path parameter ${name} must be a UUID, not ${JSON.stringify(value.slice(0, 80))}.`,
        errors: [{ pointer: name, message: "must be a UUID" }],
      });
    }
  }
}

/** A text that is no id is no record's id; asking the database would only be an error there. */
function checkStringIds(operation: Operation, parameters: Parameters): void {
  for (const [name, kind] of Object.entries(operation.parameters ?? {})) {
    if (kind === "string" && !isUuid(parameters[name] ?? "")) throw new AppError("not_found");
  }
}

interface CheckedQuery {
  readonly listQuery?: ListQuery;
  readonly flags: ReadonlySet<string>;
}

function checkQuery(operation: Operation, query: QueryParameters): CheckedQuery {
  if (operation.success.kind === "page") {
    const parsed = parseListQuery(operation.success.list, query);
    if (parsed.ok) return { listQuery: parsed.value, flags: new Set() };
    const { parameter, message } = parsed.problem;
    throw new AppError("invalid_parameter", {
      detail: `${parameter.slice(0, 200)} ${message}.`,
      errors: [{ pointer: parameter.slice(0, 200), message }],
    });
  }
  const known = operation.flags ?? {};
  const [unknown] = Object.keys(query).filter((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) {
    return { flags: new Set(Object.keys(known).filter((name) => readFlag(name, query[name]))) };
  }
  throw new AppError("invalid_parameter", {
    detail: `The operation takes no query parameter ${JSON.stringify(unknown.slice(0, 80))}.`,
    errors: [{ pointer: unknown.slice(0, 200), message: "is not a parameter of this operation" }],
  });
}

/** `?groups` alone says as much as `?groups=true`. */
function readFlag(name: string, value: QueryParameters[string]): boolean {
  if (value === undefined || value === "false") return false;
  if (value === "" || value === "true") return true;
  throw new AppError("invalid_parameter", {
    detail: `${name} must be given once, as true or false, not ${JSON.stringify(value).slice(0, 80)}.`,
    errors: [{ pointer: name, message: "must be true or false" }],
  });
}

function idempotencyOf(operation: Operation, request: FastifyRequest, caller: Caller): IdempotencyRequest | undefined {
  const key = request.headers["idempotency-key"];
  if (operation.method !== "POST" || key === undefined) return undefined;
  if (typeof key !== "string" || key.length === 0 || key.length > 255) {
    throw new AppError("invalid_parameter", { detail: "Idempotency-Key must have 1 to 255 characters." });
  }
  const path = request.url.split("?", 1)[0] ?? "";
  return {
    tenantId: caller.tenantId ?? nilUuid,
    callerId: caller.actor.id ?? nilUuid,
    keyHash: sha256(key),
    // A repeated request is the same bytes again.
    requestHash: sha256(`${operation.id}\n${path}\n${request.bodyText ?? ""}`),
  };
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
