/** The grants of the token endpoint: codes, device codes, refresh tokens and enrolment keys become tokens. */
import type { Device } from "@gatehouse/contract/records/device";
import type {
  AuthorizationContext,
  IssuedDevice,
  IssuedTokens,
  TokenRequest,
} from "../../http/authorization-server.ts";
import { AppError } from "../../platform/app-error.ts";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import type { CommandRunner } from "../../platform/command.ts";
import { OAuthError } from "../../platform/oauth-error.ts";
import { WindowCounts } from "../../platform/rate-limits/window-counts.ts";
import { hashToken } from "../../platform/secrets/tokens.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { issueDeviceToken, lockDevice } from "../devices/devices.api.ts";
import { enrolWithKey } from "../enrolment-keys/enrolment-keys.api.ts";
import {
  beginProgramSession,
  callerOfSession,
  endProgramSession,
  findRefreshedSession,
  lockPersonSession,
  type PersonSessionRow,
  type ProgramTokens,
  readSignedInUser,
  rotateProgramTokens,
  type SignedInUser,
} from "../sessions/sessions.api.ts";
import { AuthorizationTransactions } from "./authorization-transactions.ts";
import * as queries from "./authorizations.queries.ts";
import * as rules from "./authorizations.rules.ts";
import { invalidGrant, issuedDevice, readDeviceView, unchangedToken } from "./device-sign-in.ts";
import { type CodeRequest, refusalOf, requireClient } from "./request-checks.ts";

/** A poll that is early by less than this is accepted, in milliseconds. */
const pollToleranceMs = 500;
/**
 * The maximum number of polls of a code per minute that query the database: twice as many as the interval allows.
 */
const pollWindowMs = 60_000;
const pollsPerWindow = (2 * pollWindowMs) / (rules.pollSeconds * 1_000);

/** The reason why a grant is refused. A reason that deserves attention is logged for the tenant. */
interface Refusal {
  readonly refused: string;
  readonly session?: PersonSessionRow | undefined;
}

export class TokenGrants {
  readonly #runner: CommandRunner;
  readonly #transactions: AuthorizationTransactions;
  readonly #polls: WindowCounts;

  constructor(runner: CommandRunner) {
    this.#runner = runner;
    this.#polls = new WindowCounts({ windowMs: pollWindowMs, clock: runner.clock, shared: false });
    this.#transactions = new AuthorizationTransactions(runner);
  }

  issue(context: AuthorizationContext, request: TokenRequest): Promise<IssuedTokens | IssuedDevice> {
    const client = requireClient(request.clientId);
    if (request.grant === "enrolment_key") return this.#enrolWithKey(context, client, request);
    if (client.enrols && request.grant !== "device_code") throw new OAuthError("invalid_grant", invalidGrant);
    if (request.grant === "refresh_token") return this.#refresh(context, request.clientId, request.refreshToken);
    if (request.grant === "device_code") return this.#exchangeDeviceCode(context, request);
    return this.#exchange(context, hashToken(request.code), request);
  }

  async revoke(clientId: string, token: string): Promise<void> {
    const client = requireClient(clientId);
    const { database } = this.#runner;
    const row = await findRefreshedSession(database, token);
    if (row?.oauth_client !== client.id) return;
    await this.#transactions.inTenant(row.tenant_id, (tx) => endProgramSession(tx, row.id));
  }

  async #enrolWithKey(
    context: AuthorizationContext,
    client: rules.ProgramClient,
    { key, machine, device }: TokenRequest & { grant: "enrolment_key" },
  ): Promise<IssuedDevice> {
    if (!client.enrols) throw new OAuthError("invalid_grant", invalidGrant);
    if (!rules.isMachine(machine) || machine.trim() === "" || !rules.isMachine(`${device.os}${device.osVersion}`)) {
      throw new OAuthError("invalid_request", "The name of the machine or of its system is not plain text.");
    }
    return enrolWithKey(this.#runner, context, { key, machine: machine.trim(), device });
  }

  async #exchangeDeviceCode(
    context: AuthorizationContext,
    request: TokenRequest & { grant: "device_code" },
  ): Promise<IssuedTokens | IssuedDevice> {
    const { database, clock } = this.#runner;
    const hash = hashToken(request.deviceCode);
    if (this.#polls.add(hash.toString("base64")).count > pollsPerWindow) throw tooFast();
    const pending = await queries.findByDeviceCode(database, hash);
    // The code can be stored before the answer.
    const isApproved = pending?.answer === "approved" || (await queries.findTenantOfCode(database, hash)) !== undefined;
    if (pending === undefined || isApproved) {
      const { enrols } = requireClient(request.clientId);
      return enrols ? this.#exchangeForDevice(context, hash) : this.#exchange(context, hash, request);
    }
    if (pending.oauth_client !== request.clientId) throw new OAuthError("invalid_grant", invalidGrant);
    if (pending.answer === "denied") throw new OAuthError("access_denied", "The person refused the request.");
    const now = clock.now();
    if (Date.parse(pending.expires_at) <= now.getTime()) {
      throw new OAuthError("expired_token", "The code has expired. Start again.");
    }
    const last = pending.polled_at === null ? Number.NEGATIVE_INFINITY : Date.parse(pending.polled_at);
    await queries.noteDevicePoll(database, hash, now);
    if (now.getTime() - last < rules.pollSeconds * 1000 - pollToleranceMs) {
      throw tooFast();
    }
    throw new OAuthError("authorization_pending", "Nobody has approved the request yet.");
  }

  /** Exchanges a code that a person approved for tokens. */
  async #exchange(context: AuthorizationContext, hash: Buffer, request: CodeRequest): Promise<IssuedTokens> {
    const { database, clock } = this.#runner;
    const now = clock.now();
    const tenantId = await queries.findTenantOfCode(database, hash);
    if (tenantId === undefined) throw new OAuthError("invalid_grant", invalidGrant);
    const result = await this.#transactions.inTenant(tenantId, async (tx) => {
      const code = await queries.lockAuthorizationCode(tx, hash);
      if (code === undefined) return { refused: "the code is gone" };
      const approver = await lockPersonSession(tx, code.session_id);
      if (code.used_at !== null) {
        // The first user of the code may have stolen it (RFC 6749, section 4.1.2).
        if (code.issued_session_id !== null) await endProgramSession(tx, code.issued_session_id);
        return { refused: "a code of a program was used twice; the program was signed out", session: approver };
      }
      const refused = refusalOf(code, request, now);
      if (refused !== undefined || approver === undefined) {
        await queries.markCodeUsed(tx, hash, now, null);
        return { refused: refused ?? "the approving session has ended", session: approver };
      }
      const user = await readSignedInUser(tx, approver.user_id);
      if (user?.status !== "active") return { refused: "the user is not active", session: approver };
      const { oauth_client: oauthClient, program } = code;
      const { address } = context;
      const tokens = await beginProgramSession(tx, { approver, oauthClient, program, address }, now);
      await queries.markCodeUsed(tx, hash, now, tokens.sessionId);
      await this.#transactions.logAttempt(tx, approver, user.email, { ...context, userAgent: program }, null);
      return { tokens, user };
    });
    return this.#issued(context, tenantId, result);
  }

  /** Exchanges the code of an enrolment for the token of the device. */
  async #exchangeForDevice(context: AuthorizationContext, hash: Buffer): Promise<IssuedDevice> {
    const { database, clock } = this.#runner;
    const now = clock.now();
    const tenantId = await queries.findTenantOfCode(database, hash);
    if (tenantId === undefined) throw new OAuthError("invalid_grant", invalidGrant);
    let renews = false;
    const user = await this.#transactions.inTenant(tenantId, async (tx) => {
      const code = await queries.lockAuthorizationCode(tx, hash);
      const approver = code === undefined ? undefined : await lockPersonSession(tx, code.session_id);
      renews = code?.renews === true;
      return approver === undefined ? undefined : readSignedInUser(tx, approver.user_id);
    });
    if (user?.status !== "active") throw new OAuthError("invalid_grant", invalidGrant);
    const caller = { actor: { type: "user", id: user.id, name: user.email }, tenantId } as const;
    let issued: { readonly token: string; readonly device: IssuedDevice["device"] } | undefined;
    const use = async (
      tx: TenantTx,
      issue: (id: string) => Promise<{ readonly token: string; readonly view: Device }>,
    ) => {
      const code = await queries.lockAuthorizationCode(tx, hash);
      const isOpen = code !== undefined && code.used_at === null && Date.parse(code.expires_at) > now.getTime();
      const device = isOpen && code.device_id !== null ? await lockDevice(tx, code.device_id) : undefined;
      if (device === undefined) throw new OAuthError("invalid_grant", invalidGrant);
      const { token, view } = await issue(device.id);
      await queries.markCodeUsed(tx, hash, now, null);
      issued = { token, device: issuedDevice(view) };
    };
    if (renews) {
      await this.#transactions.inTenant(tenantId, (tx) =>
        use(tx, async (id) => ({ token: unchangedToken, view: await readDeviceView(tx, id, now) })),
      );
    } else {
      await this.#transactions.command(caller, context, "rotateDeviceToken", (tx) =>
        use(tx, (id) => issueDeviceToken(tx, grantedToSystem<"devices:write">(), id, now)),
      );
    }
    if (issued === undefined) throw new OAuthError("invalid_grant", invalidGrant);
    return {
      access_token: issued.token,
      token_type: "Bearer",
      device: issued.device,
      user: { id: user.id, email: user.email },
      tenant: { id: tenantId, name: user.tenantName },
    };
  }

  async #refresh(context: AuthorizationContext, clientId: string, refreshToken: string): Promise<IssuedTokens> {
    const { database, clock } = this.#runner;
    const row = await findRefreshedSession(database, refreshToken);
    if (row?.oauth_client !== clientId) throw new OAuthError("invalid_grant", invalidGrant);
    const now = clock.now();
    const { user } = await callerOfSession(database, row, now).catch((error: unknown) => {
      if (error instanceof AppError && error.code === "session_ended") {
        throw new OAuthError("invalid_grant", invalidGrant);
      }
      throw error;
    });
    const result = await this.#transactions.inTenant(row.tenant_id, async (tx) => {
      const tokens = await rotateProgramTokens(tx, row, refreshToken, now);
      if (tokens === "reused") {
        return { refused: "a refresh token was used twice; the program was signed out", session: row };
      }
      return tokens === "ended" ? { refused: "the session has ended" } : { tokens, user };
    });
    return this.#issued(context, row.tenant_id, result);
  }

  async #issued(
    context: AuthorizationContext,
    tenantId: string,
    result: Refusal | { readonly tokens: ProgramTokens; readonly user: SignedInUser },
  ): Promise<IssuedTokens> {
    if ("refused" in result) {
      const { refused, session } = result;
      if (session !== undefined) {
        await this.#transactions.inTenant(tenantId, async (tx) => {
          const user = await readSignedInUser(tx, session.user_id);
          await this.#transactions.logAttempt(tx, session, user?.email ?? null, context, refused);
        });
      }
      throw new OAuthError("invalid_grant", invalidGrant);
    }
    const { tokens, user } = result;
    const remainingMs = tokens.accessExpiresAt.getTime() - this.#runner.clock.now().getTime();
    return {
      access_token: tokens.accessToken,
      token_type: "Bearer",
      expires_in: Math.max(1, Math.floor(remainingMs / 1000)),
      refresh_token: tokens.refreshToken,
      session_expires_at: tokens.sessionExpiresAt.toISOString(),
      user: { id: user.id, email: user.email },
      tenant: { id: tenantId, name: user.tenantName },
    };
  }
}

function tooFast(): OAuthError {
  return new OAuthError("slow_down", `Poll at most every ${rules.pollSeconds} seconds.`);
}
