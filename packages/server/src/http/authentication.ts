/** Authenticates a request: source address, key or session, permission and rate limit. Runs before the body is read. */
import { type Access, isAlwaysDangerous, type Operation, takesOverrideReason } from "@gatehouse/contract/operation";
import type { Permission } from "@gatehouse/contract/permissions";
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from "fastify";
import { AppError } from "../platform/app-error.ts";
import { authorize } from "../platform/authorization/granted.ts";
import { requirePerson, requireRecentAuthentication } from "../platform/authorization/recent-authentication.ts";
import type { Clock } from "../platform/clock.ts";
import { tokenPrefixes } from "../platform/secrets/tokens.ts";
import { type Authenticator, type Caller, type Credential, presentedCredential, presentedKey } from "./caller.ts";
import { clientAddress } from "./client-address.ts";
import { within } from "./observation.ts";
import { isOverTls, requireOwnOrigin } from "./own-origin.ts";
import type { RateLimits } from "./rate-limits.ts";
import { operationHeaders } from "./response-headers.ts";

export interface AuthenticationOptions {
  readonly authenticator: Authenticator;
  readonly limits: RateLimits;
  readonly clock: Clock;
}

/** Returns the hook that sets the caller of a request to the operation, or fails with 401, 403 or 429. */
export function authenticationOf(operation: Operation, options: AuthenticationOptions): onRequestHookHandler {
  const ask = { ...options, access: operation.access, operation };
  return (request, reply, done) => {
    request.operation = operation;
    reply.headers(operationHeaders);
    const waiting = within(request, () => authenticate(request, reply, ask));
    if (waiting === undefined) done();
    else waiting.then(() => done(), done);
  };
}

export interface AuthenticationAsk extends AuthenticationOptions {
  /** The required access. `sign-in` accepts any key of a tenant, but no session. */
  readonly access: Access | "sign-in";
  /** The operation; undefined for the console's own routes. */
  readonly operation?: Operation;
}

/**
 * Sets the caller of a request, or fails with 401, 403 or 429. Waits only if the credential is not cached.
 *
 * @throws AppError
 */
export function authenticate(
  request: FastifyRequest,
  reply: FastifyReply,
  ask: AuthenticationAsk,
): Promise<void> | undefined {
  const { access, authenticator, limits } = ask;
  let credential: Credential;
  try {
    credential = credentialOf(request, access);
  } catch (error) {
    limits.requireUnblockedAddress(request, reply, undefined);
    throw noted(error, undefined);
  }
  limits.requireUnblockedAddress(request, reply, credential.text);
  let found: Caller | Promise<Caller>;
  try {
    found = identify(request, credential, access, authenticator);
  } catch (error) {
    throw noted(error, credential);
  }
  if (!(found instanceof Promise)) {
    admit(request, reply, ask, found, credential);
    return undefined;
  }
  return found.then(
    (caller) => admit(request, reply, ask, caller, credential),
    (error: unknown) => {
      throw noted(error, credential);
    },
  );

  function noted(error: unknown, failed: Credential | undefined): unknown {
    if (error instanceof AppError && isFailedAuthentication(error)) limits.countFailure(request, failed?.text);
    return error;
  }
}

/** @throws AppError permission_denied, rate_limited, recent_authentication_required */
function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  { access, operation, limits, clock }: AuthenticationAsk,
  caller: Caller,
  credential: Credential,
): void {
  request.caller = caller;
  limits.noteAccepted(caller, credential.text, clientAddress(request));
  const exceeded = limits.countRequest(caller, reply);
  // Rejected requests count too. A missing permission is reported before an exceeded limit.
  if (isPermission(access)) authorize(caller.permissions, access);
  if (access === "person") requirePerson(caller);
  if (exceeded !== undefined) throw exceeded;
  if (isDangerous(request, operation)) requireRecentAuthentication(caller, clock.now());
}

/** Whether the request needs a recent authentication: by its operation, or because it overrides access tests. */
function isDangerous({ headers }: FastifyRequest, operation: Operation | undefined): boolean {
  if (operation === undefined) return false;
  if (isAlwaysDangerous(operation)) return true;
  return takesOverrideReason(operation) && headers["gatehouse-override-reason"] !== undefined;
}

/**
 * Repeats the authorization of a request that waited, or of a long-lived response. The key may have been revoked.
 *
 * @throws AppError like the original request
 */
export async function authorizeAgain(
  { access }: Operation,
  authenticator: Authenticator,
  request: FastifyRequest,
): Promise<Caller> {
  const caller = await identify(request, credentialOf(request, access), access, authenticator);
  if (isPermission(access)) authorize(caller.permissions, access);
  if (access === "person") requirePerson(caller);
  return caller;
}

function isPermission(access: AuthenticationAsk["access"]): access is Permission {
  return access !== "operator" && access !== "any-key" && access !== "person" && access !== "sign-in";
}

/** Sessions represent tenant keys. The operator, and a caller that signs in, must present the key itself. */
function credentialOf(request: FastifyRequest, access: AuthenticationAsk["access"]): Credential {
  return access === "operator" || access === "sign-in"
    ? { kind: "key", text: presentedKey(request.headers) }
    : presentedCredential(request.headers, isOverTls(request));
}

function identify(
  request: FastifyRequest,
  { kind, text }: Credential,
  access: AuthenticationAsk["access"],
  authenticator: Authenticator,
): Caller | Promise<Caller> {
  if (access === "operator") return authenticator.operatorKey(text);
  // A token of a program stands for a person, and therefore does not sign in as a key.
  if (kind === "key" && access !== "sign-in" && text.startsWith(tokenPrefixes.access)) {
    return authenticator.accessToken(text);
  }
  if (kind === "key") return authenticator.tenantKey(text, clientAddress(request));
  requireOwnOrigin(request);
  // A separate object, so that the addresses of the session and of its key are tracked separately.
  return authenticator.session(text, clientAddress(request)).then((caller) => ({ ...caller }));
}

/**
 * Whether the error counts as a failed authentication. An unavailable database does not, nor does an expired session.
 */
function isFailedAuthentication({ status, code }: AppError): boolean {
  return status === 401 || code === "source_address_not_allowed";
}
