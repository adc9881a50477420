/** The requests of programs that cannot open a browser (RFC 8628), and their answers by people. */
import type {
  AuthorizationContext,
  DeviceCodes,
  DeviceRequest,
  DeviceRequestInfo,
} from "../../http/authorization-server.ts";
import type { Caller } from "../../http/caller.ts";
import { AppError } from "../../platform/app-error.ts";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import { requireRecentAuthentication } from "../../platform/authorization/recent-authentication.ts";
import type { CommandRunner } from "../../platform/command.ts";
import type { Log } from "../../platform/log.ts";
import { OAuthError } from "../../platform/oauth-error.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { renewDeviceSession } from "../devices/devices.api.ts";
import { addDevice } from "../enrolment/enrolment.api.ts";
import { lockPersonSession } from "../sessions/sessions.api.ts";
import { readTenantSettings } from "../tenant-settings/tenant-settings.api.ts";
import { AuthorizationTransactions } from "./authorization-transactions.ts";
import * as queries from "./authorizations.queries.ts";
import * as rules from "./authorizations.rules.ts";
import { deviceSessionFrom, requireOwnDevice, withEnrolledDevice } from "./device-sign-in.ts";
import { programText, requireAge, requireBrowser, requireClient, unknownCode } from "./request-checks.ts";

/** How long a device code can be approved, and how long it can then be exchanged, in milliseconds. */
const deviceCodeMs = 10 * 60_000;
/** Limits of pending device codes, because anyone can request them. */
const requestBounds = { total: 10_000, fromAddress: 50, fromNetwork: 500 };
/** Unknown codes that a person may enter within `guessWindowMs`. */
const maxGuesses = 10;
const guessWindowMs = 10 * 60_000;
const guessReason = "an unknown device code";

/** A pending request that a person may answer. */
interface FoundRequest {
  readonly session: NonNullable<Caller["session"]>;
  readonly client: rules.ProgramClient;
  readonly request: queries.DeviceRequestRow;
  /** The hash of the user code. */
  readonly hash: Buffer;
}

type CodePurpose = Pick<queries.NewAuthorizationCode, "deviceId" | "renews">;

export class DeviceRequests {
  readonly #runner: CommandRunner;
  readonly #log: Log;
  readonly #transactions: AuthorizationTransactions;

  constructor(runner: CommandRunner, log: Log) {
    this.#runner = runner;
    this.#log = log;
    this.#transactions = new AuthorizationTransactions(runner);
  }

  async create({ address, addressGroup }: AuthorizationContext, asked: DeviceRequest): Promise<DeviceCodes> {
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
      intervalSeconds: rules.pollSeconds,
    };
  }

  async find(caller: Caller, context: AuthorizationContext, userCode: string): Promise<DeviceRequestInfo> {
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

  /**
   * Answers a request. An approval stores the code and its effects in one transaction. The request is therefore either
   * approved or still pending, even after a crash.
   */
  async answer(caller: Caller, context: AuthorizationContext, userCode: string, approve: boolean): Promise<void> {
    const found = await this.#requireDeviceRequest(caller, context, userCode);
    const { clock, database } = this.#runner;
    const now = clock.now();
    if (!approve) {
      // Another person has already answered.
      if (!(await queries.denyDeviceRequest(database, found.request.device_code_hash, now))) throw unknownCode();
      return;
    }
    requireAge(caller, found.request.max_age ?? undefined, now);
    // The device or the program can outlive the session of the person (docs/decisions/0279).
    requireRecentAuthentication(caller, now);
    await this.#approve(caller, context, found, now);
    // The request is approved already.
    await queries.recordDeviceApproval(database, found.hash).catch((error: unknown) => {
      this.#log.warn({ err: error }, "failed to record the approval of a device code");
    });
  }

  async #approve(
    caller: Caller,
    context: AuthorizationContext,
    { session, client, request }: FoundRequest,
    now: Date,
  ): Promise<void> {
    const { device, machine, device_code_hash: codeHash } = request;
    const code = {
      codeHash,
      sessionId: session.id,
      oauthClient: client.id,
      program: programText(client, machine),
      redirectUri: null,
      codeChallenge: null,
      expiresAt: new Date(now.getTime() + deviceCodeMs),
    };
    /** @param effect what the approval does; returns what the code is for */
    const approving = async <Tx extends TenantTx>(tx: Tx, effect: (tx: Tx) => Promise<CodePurpose>) => {
      // Another person may answer at the same time, including a person of another tenant.
      const isAnswered = await queries.lockAnswer(tx, codeHash);
      if (isAnswered || !(await queries.storeCode(tx, { ...code, ...(await effect(tx)) }, now))) throw unknownCode();
    };
    if (device === null) {
      await this.#transactions.inTenant(caller.tenantId ?? "", (tx) => approving(tx, async () => ({})));
      return;
    }
    const { renews, ...described } = device;
    if (renews !== undefined) {
      const { deviceId } = renews;
      await this.#transactions.command(caller, context, "signInOnDevice", (command) =>
        approving(command, async (tx) => {
          const begun = await deviceSessionFrom(tx, session.id);
          await requireOwnDevice(tx, deviceId, session.userId);
          await renewDeviceSession(tx, deviceId, begun, now);
          return { deviceId, renews: true };
        }),
      );
      return;
    }
    await this.#transactions.command(caller, context, "enrolDevice", (command) =>
      approving(command, async (tx) => {
        const approvalPending = (await readTenantSettings(tx))?.deviceApproval === "administrator";
        const granted = grantedToSystem<"devices:write">();
        const enrolled = { ...described, name: machine, userId: session.userId, approvalPending };
        const signedIn = { ...enrolled, session: await deviceSessionFrom(tx, session.id) };
        const { id: deviceId } = await addDevice(tx, granted, signedIn, now);
        return { deviceId };
      }),
    );
  }

  /**
   * Finds a pending request by the code that a person entered. Unknown codes are logged and counted.
   *
   * @throws AppError not_found, too_many_failed_authentications
   */
  async #requireDeviceRequest(caller: Caller, context: AuthorizationContext, text: string): Promise<FoundRequest> {
    const session = requireBrowser(caller);
    const { clock, database } = this.#runner;
    const { tenantId = "" } = caller;
    const now = clock.now();
    const code = rules.canonicalUserCode(text);
    const hash = code === undefined ? undefined : hashToken(code);
    const request = hash === undefined ? undefined : await queries.findByUserCode(database, hash);
    const client = request === undefined ? undefined : rules.findClient(request.oauth_client);
    const isPending =
      request !== undefined &&
      request.answer === null &&
      Date.parse(request.expires_at) > now.getTime() &&
      // People must not learn about devices of other tenants.
      (request.device?.renews === undefined || request.device.renews.tenantId === tenantId);
    const isKnown = hash !== undefined && client !== undefined && isPending;
    await this.#transactions.inTenant(tenantId, (tx) => this.#countGuess(tx, caller, context, isKnown));
    if (!isKnown) throw unknownCode();
    return { session, client, request, hash };
  }

  /**
   * Refuses a person who guessed too often, whether or not the code is known. Logs an unknown code.
   *
   * @throws AppError too_many_failed_authentications
   */
  async #countGuess(tx: TenantTx, caller: Caller, context: AuthorizationContext, isKnown: boolean): Promise<void> {
    const session = requireBrowser(caller);
    const since = new Date(this.#runner.clock.now().getTime() - guessWindowMs);
    if ((await queries.countFailedAttempts(tx, session.userId, since, guessReason)) >= maxGuesses) {
      throw new AppError("too_many_failed_authentications", { retryAfterSeconds: guessWindowMs / 1000 });
    }
    if (isKnown) return;
    const row = await lockPersonSession(tx, session.id);
    if (row !== undefined) await this.#transactions.logAttempt(tx, row, caller.actor.name, context, guessReason);
  }
}
