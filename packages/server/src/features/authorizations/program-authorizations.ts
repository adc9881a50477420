/**
 * The authorization server for Gatehouse's own programs (docs/decisions/0113-command-line-sign-in.md): the
 * authorization code with PKCE over a loopback redirect, the device grant, refresh and revocation.
 */
import type { Device } from "@gatehouse/contract/records/device";
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
import { AppError } from "../../platform/app-error.ts";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import { requireRecentAuthentication } from "../../platform/authorization/recent-authentication.ts";
import { type CommandRunner, runCommand } from "../../platform/command.ts";
import { newId } from "../../platform/ids.ts";
import { OAuthError } from "../../platform/oauth-error.ts";
import { empty } from "../../platform/outcome.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { issueDeviceToken, limitsSessionsOf, lockDevice, renewDeviceSession } from "../devices/devices.api.ts";
import { addDevice } from "../enrolment/enrolment.api.ts";
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
import { insertSignInAttempt } from "../sign-in/sign-in.api.ts";
import { readTenantSettings } from "../tenant-settings/tenant-settings.api.ts";
import * as queries from "./authorizations.queries.ts";
import * as rules from "./authorizations.rules.ts";
import {
  deviceSessionFrom,
  invalidGrant,
  issuedDevice,
  readDeviceView,
  requireOwnDevice,
  unchangedToken,
  withEnrolledDevice,
} from "./device-sign-in.ts";
import {
  type CodeRequest,
  programText,
  refusalOf,
  requireAge,
  requireBrowser,
  requireClient,
  requireValid,
  unknownCode,
} from "./request-checks.ts";

/** How long an authorization code can be exchanged, in milliseconds. */
const codeMs = 60_000;
/** How long a device code can be approved, and how long it can then be exchanged, in milliseconds. */
const deviceCodeMs = 10 * 60_000;
/** The interval at which a program asks whether its device code was approved, in seconds. */
const pollSeconds = 5;
/** A program that asks earlier by less than this is not too fast, in milliseconds. */
const pollToleranceMs = 500;
/** Pending device codes at most: anyone can ask for one. */
const requestBounds = { total: 10_000, fromAddress: 50, fromNetwork: 500 };
/** Unknown codes that a person may enter within `guessWindowMs`. */
const maxGuesses = 10;
const guessWindowMs = 10 * 60_000;
const guessReason = "an unknown device code";

/** The reason for which a grant is refused. It is logged for the tenant, if it is worth attention. */
interface Refusal {
  readonly refused: string;
  readonly session?: PersonSessionRow | undefined;
}

export class ProgramAuthorizations implements AuthorizationServer {
  readonly #runner: CommandRunner;

  constructor(runner: CommandRunner) {
    this.#runner = runner;
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
      const code = generateToken(tokenPrefixes.code);
      await this.#inTenant(caller.tenantId ?? "", (tx) =>
        queries.storeCode(
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

  async requestDevice({ address, addressGroup }: AuthorizationContext, asked: DeviceRequest): Promise<DeviceCodes> {
    const client = requireClient(asked.clientId);
    const { machine, maxAge, device } = client.enrols ? await withEnrolledDevice(this.#runner.database, asked) : asked;
    const isEnrolled = device?.renews !== undefined;
    if (!isEnrolled && !rules.isMachine(machine))
      throw new OAuthError("invalid_request", "The name of the machine is not valid.");
    if (
      client.enrols &&
      !isEnrolled &&
      (device === undefined || machine.trim() === "" || !rules.isMachine(`${device.os}${device.osVersion}`))
    ) {
      throw new OAuthError("invalid_request", "An enrolment needs machine, hardware_id and public_key, in plain text.");
    }
    const now = this.#runner.clock.now();
    const deviceCode = generateToken(tokenPrefixes.code);
    const userCode = rules.generateUserCode();
    const request = {
      deviceCodeHash: hashToken(deviceCode),
      userCodeHash: hashToken(userCode),
      oauthClient: client.id,
      machine,
      address,
      addressGroup,
      maxAge: maxAge ?? null,
      device: client.enrols ? (device ?? null) : null,
      expiresAt: new Date(now.getTime() + deviceCodeMs),
    };
    if (!(await queries.storeDeviceRequest(this.#runner.database, request, now, requestBounds))) {
      throw new OAuthError("temporarily_unavailable", "Too many codes are pending. Try again in ten minutes.");
    }
    return {
      deviceCode,
      userCode: rules.formatUserCode(userCode),
      expiresInSeconds: deviceCodeMs / 1000,
      intervalSeconds: pollSeconds,
    };
  }

  async findDeviceRequest(caller: Caller, context: AuthorizationContext, userCode: string): Promise<DeviceRequestInfo> {
    const { client, request } = await this.#requireDeviceRequest(caller, context, userCode);
    const { device } = request;
    return {
      name: client.name,
      machine: request.machine,
      address: request.address,
      sameAddress: request.address === context.address,
      requestedAt: request.created_at,
      expiresAt: request.expires_at,
      ...(device === null
        ? {}
        : {
            device: {
              os: `${device.os} ${device.osVersion}`.trim(),
              keyFingerprint: rules.keyFingerprint(device.publicKey),
              isEnrolled: device.renews !== undefined,
            },
          }),
    };
  }

  async answerDeviceRequest(
    caller: Caller,
    context: AuthorizationContext,
    userCode: string,
    approve: boolean,
  ): Promise<void> {
    const { session, client, request, hash } = await this.#requireDeviceRequest(caller, context, userCode);
    const { clock, database } = this.#runner;
    const now = clock.now();
    if (approve) {
      requireAge(caller, request.max_age ?? undefined, now);
      await this.#requireRecentSignIn(caller, request, now);
    }
    const codeHash = await queries.storeDeviceAnswer(database, hash, approve ? "approved" : "denied", now);
    // Another answer was faster.
    if (codeHash === undefined) throw unknownCode();
    if (!approve) return;
    const code = {
      codeHash,
      sessionId: session.id,
      oauthClient: client.id,
      program: programText(client, request.machine),
      redirectUri: null,
      codeChallenge: null,
      expiresAt: new Date(now.getTime() + deviceCodeMs),
    };
    const { device } = request;
    if (device === null) {
      await this.#inTenant(caller.tenantId ?? "", (tx) => queries.storeCode(tx, code, now));
      return;
    }
    const { renews, ...described } = device;
    const enrolled = { ...described, name: request.machine, userId: session.userId };
    try {
      if (renews !== undefined) {
        await this.#command(caller, context, "signInOnDevice", async (tx) => {
          const { deviceId } = renews;
          // The person's session is locked first, as by everything that ends sessions.
          const begun = await deviceSessionFrom(tx, session.id);
          await requireOwnDevice(tx, deviceId, session.userId);
          await renewDeviceSession(tx, deviceId, begun, now);
          await queries.storeCode(tx, { ...code, deviceId, renews: true }, now);
        });
        return;
      }
      await this.#command(caller, context, "enrolDevice", async (tx) => {
        const approvalPending = (await readTenantSettings(tx))?.deviceApproval === "administrator";
        const granted = grantedToSystem<"devices:write">();
        const signedIn = { ...enrolled, approvalPending, session: await deviceSessionFrom(tx, session.id) };
        const { id: deviceId } = await addDevice(tx, granted, signedIn, now);
        await queries.storeCode(tx, { ...code, deviceId }, now);
      });
    } catch (error) {
      // The person can approve again, for example after deleting another device.
      await queries.withdrawDeviceAnswer(database, hash);
      throw error;
    }
  }

  /**
   * A session of a device lasts from its approval. An old authentication must not begin one.
   *
   * @throws AppError recent_authentication_required
   */
  async #requireRecentSignIn(caller: Caller, { device }: queries.DeviceRequestRow, now: Date): Promise<void> {
    if (device === null) return;
    const { tenantId = "", session } = caller;
    const userId = session?.userId;
    const isLimited =
      device.renews !== undefined ||
      (userId !== undefined && (await this.#inTenant(tenantId, (tx) => limitsSessionsOf(tx, userId))));
    if (isLimited) requireRecentAuthentication(caller, now);
  }

  issue(context: AuthorizationContext, request: TokenRequest): Promise<IssuedTokens | IssuedDevice> {
    const client = requireClient(request.clientId);
    if (request.grant === "enrolment_key") return this.#enrolWithKey(context, client, request);
    if (client.enrols && request.grant !== "device_code") throw new OAuthError("invalid_grant", invalidGrant);
    if (request.grant === "refresh_token") return this.#refresh(context, request.clientId, request.refreshToken);
    if (request.grant === "device_code") return this.#exchangeDeviceCode(context, request);
    return this.#exchange(context, hashToken(request.code), request);
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

  async revoke(clientId: string, token: string): Promise<void> {
    const client = requireClient(clientId);
    const { database } = this.#runner;
    const row = await findRefreshedSession(database, token);
    if (row?.oauth_client !== client.id) return;
    await this.#inTenant(row.tenant_id, (tx) => endProgramSession(tx, row.id));
  }

  async #exchangeDeviceCode(
    context: AuthorizationContext,
    request: TokenRequest & { grant: "device_code" },
  ): Promise<IssuedTokens | IssuedDevice> {
    const { database, clock } = this.#runner;
    const hash = hashToken(request.deviceCode);
    const pending = await queries.findByDeviceCode(database, hash);
    if (pending === undefined || pending.answer === "approved") {
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
    if (now.getTime() - last < pollSeconds * 1000 - pollToleranceMs) {
      throw new OAuthError("slow_down", `Ask at most every ${pollSeconds} seconds.`);
    }
    throw new OAuthError("authorization_pending", "Nobody has approved the request yet.");
  }

  /** Exchanges a code that a person approved for tokens. */
  async #exchange(context: AuthorizationContext, hash: Buffer, request: CodeRequest): Promise<IssuedTokens> {
    const { database, clock } = this.#runner;
    const now = clock.now();
    const tenantId = await queries.findTenantOfCode(database, hash);
    if (tenantId === undefined) throw new OAuthError("invalid_grant", invalidGrant);
    const result = await this.#inTenant(tenantId, async (tx) => {
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
      await this.#log(tx, approver, user.email, { ...context, userAgent: program }, null);
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
    const user = await this.#inTenant(tenantId, async (tx) => {
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
      await this.#inTenant(tenantId, (tx) =>
        use(tx, async (id) => ({ token: unchangedToken, view: await readDeviceView(tx, id, now) })),
      );
    } else {
      await this.#command(caller, context, "rotateDeviceToken", (tx) =>
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
    const result = await this.#inTenant(row.tenant_id, async (tx) => {
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
        await this.#inTenant(tenantId, async (tx) => {
          const user = await readSignedInUser(tx, session.user_id);
          await this.#log(tx, session, user?.email ?? null, context, refused);
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

  /**
   * Finds a pending request by the code that a person entered. Unknown codes are logged and counted.
   *
   * @throws AppError not_found, too_many_failed_authentications
   */
  async #requireDeviceRequest(caller: Caller, context: AuthorizationContext, text: string) {
    const session = requireBrowser(caller);
    const { clock, database } = this.#runner;
    const { tenantId = "" } = caller;
    const now = clock.now();
    const since = new Date(now.getTime() - guessWindowMs);
    const guesses = await this.#inTenant(tenantId, (tx) =>
      queries.countFailedAttempts(tx, session.userId, since, guessReason),
    );
    if (guesses >= maxGuesses) {
      throw new AppError("too_many_failed_authentications", { retryAfterSeconds: guessWindowMs / 1000 });
    }
    const code = rules.canonicalUserCode(text);
    const hash = code === undefined ? undefined : hashToken(code);
    const request = hash === undefined ? undefined : await queries.findByUserCode(database, hash);
    const client = request === undefined ? undefined : rules.findClient(request.oauth_client);
    const isPending =
      request !== undefined &&
      request.answer === null &&
      Date.parse(request.expires_at) > now.getTime() &&
      // Nobody learns about the device of another tenant.
      (request.device?.renews === undefined || request.device.renews.tenantId === tenantId);
    if (hash === undefined || client === undefined || !isPending) {
      await this.#inTenant(tenantId, async (tx) => {
        const row = await lockPersonSession(tx, session.id);
        if (row !== undefined) await this.#log(tx, row, caller.actor.name, context, guessReason);
      });
      throw unknownCode();
    }
    return { session, client, request, hash };
  }

  /** @param reason null for a success */
  #log(
    tx: TenantTx,
    session: PersonSessionRow,
    email: string | null,
    { address, userAgent }: AuthorizationContext,
    reason: string | null,
  ): Promise<void> {
    const { user_id: userId, method, provider_id: providerId } = session;
    const attempt = { userId, userName: email, method, address, userAgent: userAgent ?? "", reason };
    const provider = providerId === null ? {} : { providerId };
    return insertSignInAttempt(tx, { ...attempt, ...provider, id: newId() }, this.#runner.clock.now());
  }

  /** Runs a recorded command as the person. */
  async #command(
    { actor, tenantId = "" }: Pick<Caller, "actor" | "tenantId">,
    { requestId, address }: AuthorizationContext,
    operation: string,
    work: (tx: CommandTx) => Promise<void>,
  ): Promise<void> {
    const at = this.#runner.clock.now();
    const origin = { actor, operation, requestId, sourceAddress: address, at };
    const scope = { kind: "tenant", tenantId } as const;
    const command = { scope, tenantId, origin, idempotency: undefined, changesAccess: true };
    await runCommand(this.#runner, command, async (tx) => {
      await work(tx);
      return empty();
    });
  }

  #inTenant<T>(tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
    return this.#runner.database.transaction({ kind: "tenant", tenantId }, ({ query }) => work({ tenantId, query }));
  }
}
