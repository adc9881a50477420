/**
 * `/console/session`: exchanges an API key for a session, describes the session, and ends it
 * (docs/decisions/0041-sessions.md).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";
import { type AuthenticationOptions, authenticate } from "./authentication.ts";
import { presentedKey, type Sessions } from "./caller.ts";
import { clientAddress } from "./client-address.ts";
import { within } from "./observation.ts";
import { isOverTls, requireOwnOrigin } from "./own-origin.ts";
import { operationHeaders } from "./response-headers.ts";
import { forgottenSessionCookies, sessionCookie, sessionTokenOf } from "./session-cookie.ts";

const path = "/console/session";

export interface ConsoleSessionOptions extends AuthenticationOptions {
  readonly sessions: Sessions;
}

/** These routes belong to the console and are not part of the contract. */
export function mountConsoleSession(app: FastifyInstance, options: ConsoleSessionOptions): void {
  const { sessions, limits } = options;
  const onRequest = (request: FastifyRequest, reply: FastifyReply) =>
    within(request, async () => {
      requireOwnOrigin(request);
      const token = sessionTokenOf(request.headers.cookie, isOverTls(request));
      // Without a session, the console shows its sign-in page, also at an address with failures.
      if (token !== undefined) limits.requireUnblockedAddress(request, reply, token);
    });

  app.post(path, {
    bodyLimit: 1024,
    onRequest: (request, reply) =>
      within(request, async () => {
        // The headers of keys exclude other sites, because these cannot send them without permission.
        if (request.headers.origin !== undefined) requireOwnOrigin(request);
        await authenticate(request, reply, { ...options, access: "sign-in" });
      }),
    handler: (request, reply) =>
      within(request, async () => {
        const { caller, headers } = request;
        // Authentication would have failed without both the caller and the key.
        if (caller === undefined) throw new AppError("missing_api_key");
        const before = sessionTokenOf(headers.cookie, isOverTls(request));
        const { token, info } = await sessions.begin(caller, presentedKey(headers));
        if (before !== undefined) await sessions.end(before);
        return withoutCaching(reply)
          .status(201)
          .header("Set-Cookie", sessionCookie(token, isOverTls(request)))
          .send(info);
      }),
  });

  app.get(path, {
    exposeHeadRoute: false,
    onRequest,
    handler: (request, reply) =>
      within(request, async () => {
        const token = sessionTokenOf(request.headers.cookie, isOverTls(request));
        // No session is a regular response, not a failed authentication: the console checks at its start.
        if (token === undefined) return withoutCaching(reply).status(204).send();
        try {
          return withoutCaching(reply).send(await sessions.describe(token, clientAddress(request)));
        } catch (error) {
          if (!(error instanceof AppError) || error.code !== "session_ended") throw error;
          limits.countFailure(request, token);
          return withoutCaching(reply).status(204).header("Set-Cookie", forgottenSessionCookies()).send();
        }
      }),
  });

  app.delete(path, {
    bodyLimit: 1024,
    onRequest,
    handler: (request, reply) =>
      within(request, async () => {
        const token = sessionTokenOf(request.headers.cookie, isOverTls(request));
        if (token !== undefined) await sessions.end(token);
        return withoutCaching(reply).status(204).header("Set-Cookie", forgottenSessionCookies()).send();
      }),
  });
}

function withoutCaching(reply: FastifyReply): FastifyReply {
  return reply.headers(operationHeaders);
}
