/** `/console/session`: an API key for a session, who one is, and the end of it (docs/decisions/0041-sessions.md). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";
import { type AuthenticationOptions, authenticate } from "./authentication.ts";
import type { Sessions } from "./caller.ts";
import { within } from "./observation.ts";
import { requireOwnOrigin } from "./own-origin.ts";
import { forgottenSessionCookies, sessionCookie, sessionTokenOf } from "./session-cookie.ts";

const path = "/console/session";

export interface ConsoleSessionOptions extends AuthenticationOptions {
  readonly sessions: Sessions;
}

/** No routes of the API: they are the console's alone, and no part of the contract. */
export function mountConsoleSession(app: FastifyInstance, options: ConsoleSessionOptions): void {
  const { sessions, limits } = options;
  const onRequest = (request: FastifyRequest, reply: FastifyReply) =>
    within(request, async () => {
      requireOwnOrigin(request);
      await limits.requireFreshAddress(request, reply, sessionTokenOf(request.headers.cookie));
    });

  app.post(path, {
    bodyLimit: 1024,
    onRequest: (request, reply) =>
      within(request, async () => {
        // The header `apikey` alone would keep other sites out: they cannot send it unasked.
        if (request.headers.origin !== undefined) requireOwnOrigin(request);
        await authenticate(request, reply, { ...options, access: "sign-in" });
      }),
    handler: (request, reply) =>
      within(request, async () => {
        const { caller, headers } = request;
        // Authentication has found both, or failed.
        if (caller === undefined || typeof headers.apikey !== "string") throw new AppError("missing_api_key");
        const before = sessionTokenOf(headers.cookie);
        const { token, info } = await sessions.begin(caller, headers.apikey);
        if (before !== undefined) await sessions.end(before);
        return unkept(reply)
          .status(201)
          .header("Set-Cookie", sessionCookie(token, isSecure(request)))
          .send(info);
      }),
  });

  app.get(path, {
    exposeHeadRoute: false,
    onRequest,
    handler: (request, reply) =>
      within(request, async () => {
        const token = sessionTokenOf(request.headers.cookie);
        // Nobody signed in: an answer, since the console asks at its start, and no failed attempt at anything.
        if (token === undefined) return unkept(reply).status(204).send();
        try {
          return unkept(reply).send(await sessions.describe(token, request.ip));
        } catch (error) {
          if (!(error instanceof AppError) || error.code !== "session_ended") throw error;
          await limits.noteFailure(request, token);
          return unkept(reply).status(204).header("Set-Cookie", forgottenSessionCookies()).send();
        }
      }),
  });

  app.delete(path, {
    onRequest,
    handler: (request, reply) =>
      within(request, async () => {
        const token = sessionTokenOf(request.headers.cookie);
        if (token !== undefined) await sessions.end(token);
        return unkept(reply).status(204).header("Set-Cookie", forgottenSessionCookies()).send();
      }),
  });
}

function unkept(reply: FastifyReply): FastifyReply {
  return reply.header("Cache-Control", "no-store");
}

/** Over TLS, by a proxy's word or by the browser's: what the page came from stands in Origin. */
function isSecure({ protocol, headers }: FastifyRequest): boolean {
  return protocol === "https" || headers.origin?.startsWith("https://") === true;
}
