/** Who may come in: the address, the key, its permission, its share of requests. Before anything of the body is read. */
import type { Operation } from "@gatehouse/contract/operation";
import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";
import { authorize } from "../platform/authorization/granted.ts";
import { type Authenticator, type Caller, presentedKey } from "./caller.ts";
import { within } from "./observation.ts";
import type { RateLimits } from "./rate-limits.ts";

export interface AuthenticationOptions {
  readonly authenticator: Authenticator;
  readonly limits: RateLimits;
}

/** @returns the hook that sets the caller of a request to the operation, or fails with 401, 403, 429 */
export function authenticationOf(operation: Operation, { authenticator, limits }: AuthenticationOptions) {
  const { access } = operation;
  return (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    request.operation = operation;
    return within(request, () => authenticate(request, reply));
  };

  async function authenticate(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await limits.requireFreshAddress(request, reply);
    const address = request.ip;
    let key: string;
    let caller: Caller;
    try {
      key = presentedKey(request.headers.apikey);
      const found = access === "operator" ? authenticator.operatorKey(key) : authenticator.tenantKey(key, address);
      // Waits only where it must: a key that was seen a moment ago is known at once.
      caller = found instanceof Promise ? await found : found;
    } catch (error) {
      if (error instanceof AppError && isRefusal(error)) await limits.noteFailure(request);
      throw error;
    }
    request.caller = caller;
    limits.noteAccepted(caller, key, address);
    const exceeded = await limits.countRequest(request, reply);
    // A refused request counts too; and what a key may never do is said before what it may not do just now.
    if (access !== "operator") authorize(caller.permissions, access);
    if (exceeded !== undefined) throw exceeded;
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
  const key = presentedKey(request.headers.apikey);
  const caller = await (access === "operator"
    ? authenticator.operatorKey(key)
    : authenticator.tenantKey(key, request.ip));
  if (access !== "operator") authorize(caller.permissions, access);
}

/** Not every failure is the caller's: the database may be away. */
function isRefusal({ status, code }: AppError): boolean {
  return status === 401 || code === "source_address_not_allowed";
}
