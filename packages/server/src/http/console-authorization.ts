/**
 * `/console/authorization` and `/console/device-authorization`: what a person approves for a program
 * (docs/decisions/0113-command-line-sign-in.md). Only pages of this server can take these steps, and only people.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import Type from "typebox";
import { AppError } from "../platform/app-error.ts";
import { type AuthenticationOptions, authenticate } from "./authentication.ts";
import type { AuthorizationRequest, AuthorizationServer } from "./authorization-server.ts";
import type { Caller } from "./caller.ts";
import { checkedBody, contextOf } from "./oauth.ts";
import { within } from "./observation.ts";
import { requireOwnOrigin } from "./own-origin.ts";
import { operationHeaders } from "./response-headers.ts";
import { compileCheck } from "./validation.ts";

export interface ConsoleAuthorizationOptions extends AuthenticationOptions {
  readonly authorizations: AuthorizationServer;
}

const bodyLimit = 8_192;

const parameter = (maxLength: number) => Type.String({ maxLength });
const request = Type.Object(
  {
    response_type: parameter(20),
    client_id: parameter(100),
    redirect_uri: parameter(200),
    state: parameter(500),
    code_challenge: parameter(128),
    code_challenge_method: parameter(20),
    max_age: Type.Optional(parameter(20)),
    machine: Type.Optional(parameter(200)),
  },
  { additionalProperties: false },
);
const described = compileCheck(Type.Object({ request }, { additionalProperties: false }));
const answered = compileCheck(Type.Object({ request, approve: Type.Boolean() }, { additionalProperties: false }));
const code = parameter(100);
const found = compileCheck(Type.Object({ code }, { additionalProperties: false }));
const answeredCode = compileCheck(Type.Object({ code, approve: Type.Boolean() }, { additionalProperties: false }));

/** These routes belong to the console and are not part of the contract. */
export function mountConsoleAuthorization(app: FastifyInstance, options: ConsoleAuthorizationOptions): void {
  const { authorizations, limits } = options;

  step("/console/authorization/description", async (_caller, incoming) => {
    const body = checkedBody(incoming, described) as { request: AuthorizationRequest };
    return authorizations.describe(body.request);
  });
  step("/console/authorization", async (caller, incoming) => {
    const body = checkedBody(incoming, answered) as { request: AuthorizationRequest; approve: boolean };
    const { request: asked, approve } = body;
    return { redirectTo: await authorizations.answer(caller, contextOf(incoming), asked, approve) };
  });
  step("/console/device-authorization/description", async (caller, incoming, reply) => {
    const body = checkedBody(incoming, found) as { code: string };
    return guarded(incoming, reply, () => authorizations.findDeviceRequest(caller, contextOf(incoming), body.code));
  });
  step("/console/device-authorization", async (caller, incoming, reply) => {
    const body = checkedBody(incoming, answeredCode) as { code: string; approve: boolean };
    return guarded(incoming, reply, async () => {
      await authorizations.answerDeviceRequest(caller, contextOf(incoming), body.code, body.approve);
      return {};
    });
  });

  /** Unknown codes count as failed authentications of the address, even with a session that it is known for. */
  async function guarded(incoming: FastifyRequest, reply: FastifyReply, work: () => Promise<object>): Promise<object> {
    limits.requireUnblockedAddress(incoming, reply, undefined);
    try {
      return await work();
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") limits.countFailure(incoming, undefined);
      throw error;
    }
  }

  function step(
    path: string,
    take: (caller: Caller, incoming: FastifyRequest, reply: FastifyReply) => Promise<object>,
  ): void {
    app.post(path, {
      bodyLimit,
      onRequest: (incoming, reply) =>
        within(incoming, async () => {
          requireOwnOrigin(incoming);
          await authenticate(incoming, reply, { ...options, access: "any-key" });
        }),
      handler: (incoming, reply) =>
        within(incoming, async () => {
          reply.headers(operationHeaders);
          const { caller } = incoming;
          if (caller === undefined) throw new AppError("missing_api_key");
          return reply.send(await take(caller, incoming, reply));
        }),
    });
  }
}
