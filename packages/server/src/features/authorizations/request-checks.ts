/** Checks of what programs and people send: clients, requests for authorization, and codes. Pure. */
import type { AuthorizationRequest, TokenRequest } from "../../http/authorization-server.ts";
import type { Caller, PersonSession } from "../../http/caller.ts";
import { AppError } from "../../platform/app-error.ts";
import { requirePerson, requireRecentAuthentication } from "../../platform/authorization/recent-authentication.ts";
import { OAuthError } from "../../platform/oauth-error.ts";
import type * as queries from "./authorizations.queries.ts";
import * as rules from "./authorizations.rules.ts";

/** A request that exchanges a code. */
export type CodeRequest = Extract<TokenRequest, { grant: "authorization_code" | "device_code" }>;

/** The reason for which a code is not exchanged; undefined if it is. */
export function refusalOf(code: queries.AuthorizationCodeRow, request: CodeRequest, now: Date): string | undefined {
  if (Date.parse(code.expires_at) <= now.getTime()) return "the code of a program has expired";
  if (code.oauth_client !== request.clientId) return "another program presented the code";
  if (request.grant === "device_code") {
    return code.redirect_uri === null ? undefined : "an authorization code was presented as a device code";
  }
  const { redirect_uri: redirectUri, code_challenge: challenge } = code;
  if (challenge === null || redirectUri === null) return "a device code was presented as an authorization code";
  if (redirectUri !== request.redirectUri) return "the redirect address differs from the approved one";
  return rules.provesChallenge(request.verifier, challenge) ? undefined : "the code verifier is wrong";
}

interface ValidRequest {
  readonly client: rules.ProgramClient;
  readonly machine: string;
  readonly maxAge: number | undefined;
}

/** @throws AppError invalid_parameter. An invalid request is never answered with a redirect. */
export function requireValid(request: AuthorizationRequest): ValidRequest {
  const found = rules.findClient(request.client_id);
  // A device is enrolled by its code only.
  const client = found?.enrols === true ? undefined : found;
  const maxAge = rules.parseMaxAge(request.max_age);
  const { machine = "" } = request;
  const wrong = (
    [
      ["client_id", client !== undefined],
      ["redirect_uri", rules.isLoopbackRedirect(request.redirect_uri)],
      ["response_type", request.response_type === "code"],
      ["state", rules.isState(request.state)],
      ["code_challenge_method", request.code_challenge_method === "S256"],
      ["code_challenge", rules.isCodeChallenge(request.code_challenge)],
      ["max_age", maxAge !== "invalid"],
      ["machine", rules.isMachine(machine)],
    ] as const
  ).find(([, isValid]) => !isValid);
  if (wrong !== undefined || client === undefined || maxAge === "invalid") {
    const detail = `The request of the program is not valid: ${wrong?.[0] ?? "client_id"}. Do not continue. If you ran gatehouse login, run it again.`;
    throw new AppError("invalid_parameter", { detail });
  }
  return { client, machine, maxAge };
}

/** @throws OAuthError invalid_client */
export function requireClient(id: string): rules.ProgramClient {
  const client = rules.findClient(id);
  if (client === undefined) throw new OAuthError("invalid_client", "The client is unknown.");
  return client;
}

/**
 * A program cannot approve another one, because a stolen token could then renew itself for ever.
 *
 * @throws AppError person_required
 */
export function requireBrowser(caller: Caller): PersonSession {
  const session = requirePerson(caller);
  if (session.client !== "console") throw new AppError("person_required");
  return session;
}

/** @throws AppError recent_authentication_required */
export function requireAge(caller: Caller, maxAge: number | undefined, now: Date): void {
  if (maxAge === undefined || caller.session === undefined) return;
  // Somebody who authenticates for this request takes a moment.
  requireRecentAuthentication(caller, now, Math.max(maxAge, 60));
}

export function unknownCode(): AppError {
  return new AppError("not_found", {
    detail: "The code is unknown, was answered, or has expired. Run the command again for another code.",
  });
}

export function programText({ name }: rules.ProgramClient, machine: string): string {
  return machine === "" ? name : `${name} on ${machine}`;
}
