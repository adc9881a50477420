/**
 * The authorization server for Gatehouse's own programs (docs/decisions/0113-command-line-sign-in.md): the
 * authorization code with PKCE over a loopback redirect, the device grant, refresh and revocation.
 */
import type {
  AskingProgram,
  AuthorizationContext,
  AuthorizationRequest,
  AuthorizationServer,
  DeviceCodes,
  DeviceRequest,
  DeviceRequestInfo,
  IssuedDevice,
  IssuedTokens,
  TokenRequest,
} from "../../http/authorization-server.ts";
import type { Caller } from "../../http/caller.ts";
import { requireRecentAuthentication } from "../../platform/authorization/recent-authentication.ts";
import type { CommandRunner } from "../../platform/command.ts";
import type { Log } from "../../platform/log.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { AuthorizationTransactions } from "./authorization-transactions.ts";
import { storeCode } from "./authorizations.queries.ts";
import { DeviceRequests } from "./device-requests.ts";
import { programText, requireAge, requireBrowser, requireValid } from "./request-checks.ts";
import { TokenGrants } from "./token-grants.ts";

/** How long an authorization code can be exchanged, in milliseconds. */
const codeMs = 60_000;

export class ProgramAuthorizations implements AuthorizationServer {
  readonly #runner: CommandRunner;
  readonly #transactions: AuthorizationTransactions;
  readonly #deviceRequests: DeviceRequests;
  readonly #grants: TokenGrants;

  constructor(runner: CommandRunner, log: Log) {
    this.#runner = runner;
    this.#transactions = new AuthorizationTransactions(runner);
    this.#deviceRequests = new DeviceRequests(runner, log);
    this.#grants = new TokenGrants(runner);
  }

  get issuer(): string {
    return this.#runner.publicUrl();
  }

  describe(request: AuthorizationRequest): AskingProgram {
    const { client, machine } = requireValid(request);
    return { name: client.name, machine };
  }

  async answer(
    caller: Caller,
    _context: AuthorizationContext,
    request: AuthorizationRequest,
    approve: boolean,
  ): Promise<string> {
    const { client, machine, maxAge } = requireValid(request);
    const session = requireBrowser(caller);
    const redirect = new URL(request.redirect_uri);
    const now = this.#runner.clock.now();
    if (approve) {
      requireAge(caller, maxAge, now);
      // The program can outlive the session of the person (docs/decisions/0279).
      requireRecentAuthentication(caller, now);
      const code = generateToken(tokenPrefixes.code);
      await this.#transactions.inTenant(caller.tenantId ?? "", (tx) =>
        storeCode(
          tx,
          {
            codeHash: hashToken(code),
            sessionId: session.id,
            oauthClient: client.id,
            program: programText(client, machine),
            redirectUri: request.redirect_uri,
            codeChallenge: request.code_challenge,
            expiresAt: new Date(now.getTime() + codeMs),
          },
          now,
        ),
      );
      redirect.searchParams.set("code", code);
    } else redirect.searchParams.set("error", "access_denied");
    redirect.searchParams.set("state", request.state);
    redirect.searchParams.set("iss", this.issuer);
    return redirect.href;
  }

  requestDevice(context: AuthorizationContext, request: DeviceRequest): Promise<DeviceCodes> {
    return this.#deviceRequests.create(context, request);
  }

  findDeviceRequest(caller: Caller, context: AuthorizationContext, userCode: string): Promise<DeviceRequestInfo> {
    return this.#deviceRequests.find(caller, context, userCode);
  }

  answerDeviceRequest(
    caller: Caller,
    context: AuthorizationContext,
    userCode: string,
    approve: boolean,
  ): Promise<void> {
    return this.#deviceRequests.answer(caller, context, userCode, approve);
  }

  issue(context: AuthorizationContext, request: TokenRequest): Promise<IssuedTokens | IssuedDevice> {
    return this.#grants.issue(context, request);
  }

  revoke(clientId: string, token: string): Promise<void> {
    return this.#grants.revoke(clientId, token);
  }
}
