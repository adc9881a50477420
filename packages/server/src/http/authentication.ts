/** Who may come in: the address, the key or session, its permission, its share of requests. Before anything of the body is read. */
import type { Access, Operation } from "@gatehouse/contract/operation";
import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";
import { authorize } from "../platform/authorization/granted.ts";
import { type Authenticator, type Caller, type Credential, presentedCredential, presentedKey } from "./caller.ts";
import { within } from "./observation.ts";
import { requireOwnOrigin } from "./own-origin.ts";
import type { RateLimits } from "./rate-limits.ts";

export interface AuthenticationOptions {
  readonly authenticator: Authenticator;
  readonly limits: RateLimits;
}

/** @returns the hook that sets the caller of a request to the operation, or fails with 401, 403, 429 */
export function authenticationOf(operation: Operation, options: AuthenticationOptions) {
  return (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    request.operation = operation;
    return within(request, () => authenticate(request, reply, { ...options, access: operation.access }));
  };
}

export interface AuthenticationAsk extends AuthenticationOptions {
  /** What the caller wants to do; `sign-in` takes any key of a tenant, and no session. */
  readonly access: Access | "sign-in";
}

/** Sets the caller of a request, or fails with 401, 403, 429. */
export async function authenticate(
  request: FastifyRequest,
  reply: FastifyReply,
  { access, authenticator, limits }: AuthenticationAsk,
): Promise<void> {
  let credential: Credential | undefined;
  try {
    credential = credentialOf(request, access);
  } catch (error) {
    await limits.requireFreshAddress(request, reply, undefined);
    return noteRefusal(error);
  }
  await limits.requireFreshAddress(request, reply, credential.text);
  let caller: Caller;
  try {
    const found = identify(request, credential, access, authenticator);
    // Waits only where it must: a key that was seen a moment ago is known at once.
    caller = found instanceof Promise ? await found : found;
  } catch (error) {
    return noteRefusal(error);
  }
  request.caller = caller;
  limits.noteAccepted(caller, credential.text, request.ip);
  const exceeded = await limits.countRequest(request, reply);
  // A refused request counts too; and what a key may never do is said before what it may not do just now.
  if (access !== "operator" && access !== "sign-in") authorize(caller.permissions, access);
  if (exceeded !== undefined) throw exceeded;

  async function noteRefusal(error: unknown): Promise<never> {
    if (error instanceof AppError && isRefusal(error)) await limits.noteFailure(request, credential?.text);
    throw error;
  }
}

/**
 * Asks anew whether the caller may do this: the key of an answer that goes on may have been revoked since.
 *
 * @throws AppError as when the request came
 */
export async function authorizeAgain(
  { access }: Operation,
  authenticator: Authenticator,
  request: FastifyRequest,
): Promise<void> {
  const caller = await identify(request, credentialOf(request, access), access, authenticator);
  if (access !== "operator") authorize(caller.permissions, access);
}

/** Sessions are tenants' keys; the operator, and whoever signs in, has to show the key itself. */
function credentialOf({ headers }: FastifyRequest, access: AuthenticationAsk["access"]): Credential {
  return access === "operator" || access === "sign-in"
    ? { kind: "key", text: presentedKey(headers.apikey) }
    : presentedCredential(headers);
}

function identify(
  request: FastifyRequest,
  { kind, text }: Credential,
  access: AuthenticationAsk["access"],
  authenticator: Authenticator,
): Caller | Promise<Caller> {
  if (access === "operator") return authenticator.operatorKey(text);
  if (kind === "key") return authenticator.tenantKey(text, request.ip);
  requireOwnOrigin(request);
  // An object of its own: where the session was seen is remembered apart from where its key was.
  return authenticator.session(text, request.ip).then((caller) => ({ ...caller }));
}

/** Not every failure is the caller's: the database may be away. Nor does a session that is over guess at anything. */
function isRefusal({ status, code }: AppError): boolean {
  return status === 401 || code === "source_address_not_allowed";
}
