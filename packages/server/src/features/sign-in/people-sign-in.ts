/** Signing in with passkeys, enrolment links and recovery codes (docs/decisions/0088-people-sign-in.md). */
import type { Caller, PersonSession } from "../../http/caller.ts";
import type { BegunCeremony, EnrollingPerson, PeopleSignIn, SignedIn, SignInContext } from "../../http/people.ts";
import { AppError } from "../../platform/app-error.ts";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import { requirePerson, requireRecentAuthentication } from "../../platform/authorization/recent-authentication.ts";
import type { Actor } from "../../platform/change.ts";
import { type CommandRunner, runCommand } from "../../platform/command.ts";
import { newId } from "../../platform/ids.ts";
import type { Log } from "../../platform/log.ts";
import { empty } from "../../platform/outcome.ts";
import { hashToken } from "../../platform/secrets/tokens.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import {
  findPresentedLink,
  isOutgrown,
  lockLinksOfUser,
  markLinkUsed,
  requiresSingleSignOn,
  revokeOpenLinks,
} from "../enrolment-links/enrolment-links.api.ts";
import * as passkeys from "../passkeys/passkeys.api.ts";
import {
  beginSession,
  type ConsoleSessions,
  lockUserOfSession,
  readSignedInUser,
  reauthenticateSession,
  requireOpenSession,
  type SignedInUser,
  type SignInMethod,
} from "../sessions/sessions.api.ts";
import { activateUser } from "../users/users.api.ts";
import { beginCeremony, type Ceremony, type CeremonyPurpose, challengeHash, openCeremony } from "./ceremonies.ts";
import { canonicalRecoveryCode } from "./recovery-code.rules.ts";
import { issueRecoveryCode } from "./recovery-codes.ts";
import * as queries from "./sign-in.queries.ts";

export interface PeopleSignInOptions {
  readonly runner: CommandRunner;
  readonly sessions: ConsoleSessions;
  readonly log: Log;
}

/** Authentication methods (RFC 8176): a key in hardware or software, and the presence of a verified person. */
const passkeyMethods = ["hwk", "user"];
const recoveryMethods = ["otp"];

/** An attempt whose tenant is known, and the user once the user is known. */
interface Attempt {
  readonly tenantId: string;
  readonly method: SignInMethod;
  readonly user?: Pick<SignedInUser, "id" | "email"> | undefined;
}

export class PasskeySignIn implements PeopleSignIn {
  readonly #options: PeopleSignInOptions;

  constructor(options: PeopleSignInOptions) {
    this.#options = options;
  }

  get publicUrl(): string {
    return this.#options.runner.publicUrl();
  }

  async beginSignIn(): Promise<BegunCeremony> {
    const { challenge, text } = this.#begin("sign-in", "");
    return { options: await passkeys.authenticationOptions(this.#relyingParty, challenge), ceremony: text };
  }

  async signIn(context: SignInContext, response: unknown): Promise<SignedIn> {
    const { runner, log } = this.#options;
    const now = runner.clock.now();
    const hash = passkeys.presentedCredentialHash(response);
    const passkey = hash === undefined ? undefined : await passkeys.findPresentedPasskey(runner.database, hash);
    if (passkey === undefined) {
      log.info({ requestId: context.requestId, address: context.address }, "sign-in with an unknown passkey");
      throw new AppError("sign_in_failed");
    }
    const { tenant_id: tenantId, user_id: userId } = passkey;
    const user = await this.#readUser(tenantId, userId);
    const attempt = { tenantId, method: "passkey", user } as const;
    const ceremony = this.#open("sign-in", "", context);
    if (ceremony === undefined) return this.#refuse(attempt, context, "no challenge, or an expired one");
    const verified = await passkeys.verifyAuthentication(response, ceremony.challenge, passkey, this.#relyingParty);
    if ("refused" in verified) return this.#refuse(attempt, context, verified.refused);
    if (user?.status !== "active") return this.#refuse(attempt, context, "the user is not active");
    const token = await this.#inTenant(tenantId, async (tx) => {
      // The user may have been deactivated, and the passkey removed, since they were read.
      if ((await lockUserOfSession(tx, userId)) !== "active") return "the user is not active";
      if (!(await this.#accept(tx, ceremony))) return "the challenge was answered before";
      if (await requiresSingleSignOn(tx)) return "the tenant accepts only single sign-on";
      if (!(await passkeys.notePasskeyUse(tx, passkey.id, now, verified))) return "the passkey was removed";
      return this.#beginSession(tx, attempt, context, passkeyMethods);
    });
    return typeof token === "string" ? this.#refuse(attempt, context, token) : this.#signedIn(token.token, context);
  }

  async beginEnrolment(
    context: SignInContext,
    linkToken: string,
  ): Promise<BegunCeremony & { readonly person: EnrollingPerson }> {
    const { link, user } = await this.#requireLink(context, linkToken);
    const existing = await this.#inTenant(link.tenant_id, (tx) => passkeys.readPasskeysOfUser(tx, link.user_id));
    const { challenge, text } = this.#begin("enrolment", link.id);
    const options = await passkeys.registrationOptions(this.#relyingParty, personOf(user), challenge, existing);
    return { options, ceremony: text, person: { email: user.email, tenantName: user.tenantName } };
  }

  async enrol(
    context: SignInContext,
    { token, name, response }: { readonly token: string; readonly name: string; readonly response: unknown },
  ): Promise<SignedIn> {
    const { link, user } = await this.#requireLink(context, token);
    const attempt = { tenantId: link.tenant_id, method: "enrolment-link", user } as const;
    const ceremony = this.#open("enrolment", link.id, context);
    if (ceremony === undefined) return this.#refuse(attempt, context, "no challenge, or an expired one");
    const verified = await passkeys.verifyRegistration(response, ceremony.challenge, this.#relyingParty);
    if ("refused" in verified) throw new AppError("passkey_not_accepted", { detail: refusalText(verified.refused) });
    let begun: { readonly token: string } | undefined;
    await this.#command("enrolPasskey", attempt, context, async (tx, now) => {
      const status = await lockUserOfSession(tx, user.id);
      const locked = (await lockLinksOfUser(tx, user.id)).find(({ id }) => id === link.id);
      const currentUser = await readSignedInUser(tx, user.id);
      if (currentUser === undefined || locked === undefined || locked.used_at !== null) {
        throw new AppError("sign_in_failed");
      }
      if (await isOutgrown(tx, locked, currentUser, now)) throw new AppError("enrolment_link_outgrown");
      if (!(await this.#accept(tx, ceremony))) throw new AppError("sign_in_failed");
      await markLinkUsed(tx, link.id, now);
      // The person no longer needs links that were sent elsewhere, and anybody who finds one could use it.
      await revokeOpenLinks(tx, user);
      if (status === "pending") await activateUser(tx, grantedToSystem<"devices:write">(), user.id, now);
      await this.#addPasskey(tx, user, { name, ...verified }, now);
      begun = await this.#beginSession(tx, attempt, context, passkeyMethods);
    });
    return this.#signedIn(begun?.token ?? "", context);
  }

  async recover(context: SignInContext, code: string): Promise<SignedIn & { readonly recoveryCode: string }> {
    const { runner, log } = this.#options;
    const canonical = canonicalRecoveryCode(code);
    const hash = canonical === undefined ? undefined : hashToken(canonical);
    const row = hash === undefined ? undefined : await queries.findPresentedCode(runner.database, hash);
    if (row === undefined || hash === undefined) {
      log.info({ requestId: context.requestId, address: context.address }, "sign-in with an unknown recovery code");
      throw new AppError("sign_in_failed");
    }
    const user = await this.#readUser(row.tenant_id, row.user_id);
    const attempt = { tenantId: row.tenant_id, method: "recovery-code", user } as const;
    if (user?.status !== "active") return this.#refuse(attempt, context, "the user is not active");
    let made: { readonly token: string; readonly recoveryCode: string } | undefined;
    await this.#command("useRecoveryCode", attempt, context, async (tx, now) => {
      if ((await lockUserOfSession(tx, user.id)) !== "active") throw new AppError("sign_in_failed");
      if (!(await queries.consumeRecoveryCode(tx, hash))) throw new AppError("sign_in_failed");
      // The tenant must not be without a way in, so the code is replaced, not only used.
      const recoveryCode = await issueRecoveryCode(tx, user, now);
      made = { ...(await this.#beginSession(tx, attempt, context, recoveryMethods)), recoveryCode };
    });
    const signedIn = await this.#signedIn(made?.token ?? "", context);
    return { ...signedIn, recoveryCode: made?.recoveryCode ?? "" };
  }

  async beginRegistration(caller: Caller): Promise<BegunCeremony> {
    const { session, user } = await this.#requirePerson(caller, { recent: true });
    const existing = await this.#inTenant(user.tenantId, (tx) => passkeys.readPasskeysOfUser(tx, user.id));
    const { challenge, text } = this.#begin("registration", session.id);
    const options = await passkeys.registrationOptions(this.#relyingParty, personOf(user), challenge, existing);
    return { options, ceremony: text };
  }

  async register(
    caller: Caller,
    context: SignInContext,
    { name, response }: { readonly name: string; readonly response: unknown },
  ): Promise<object> {
    const { session, user } = await this.#requirePerson(caller, { recent: true });
    const ceremony = this.#open("registration", session.id, context);
    if (ceremony === undefined) throw new AppError("passkey_not_accepted", { detail: "The challenge has expired." });
    const verified = await passkeys.verifyRegistration(response, ceremony.challenge, this.#relyingParty);
    if ("refused" in verified) throw new AppError("passkey_not_accepted", { detail: refusalText(verified.refused) });
    let view: object = {};
    const attempt = { tenantId: user.tenantId, method: "passkey", user } as const;
    await this.#command("registerPasskey", attempt, context, async (tx, now) => {
      await lockUserOfSession(tx, session.userId);
      await requireOpenSession(tx, session);
      if (!(await this.#accept(tx, ceremony))) throw new AppError("passkey_not_accepted");
      view = await this.#addPasskey(tx, user, { name, ...verified }, now);
    });
    return view;
  }

  async beginAuthentication(caller: Caller): Promise<BegunCeremony> {
    const { session, user } = await this.#requirePerson(caller);
    const existing = await this.#inTenant(user.tenantId, (tx) => passkeys.readPasskeysOfUser(tx, user.id));
    const { challenge, text } = this.#begin("authentication", session.id);
    return { options: await passkeys.authenticationOptions(this.#relyingParty, challenge, existing), ceremony: text };
  }

  async authenticate(caller: Caller, context: SignInContext, response: unknown): Promise<void> {
    const { session, user } = await this.#requirePerson(caller);
    const { runner } = this.#options;
    const attempt = { tenantId: user.tenantId, method: "passkey", user } as const;
    const ceremony = this.#open("authentication", session.id, context);
    const hash = passkeys.presentedCredentialHash(response);
    const passkey = hash === undefined ? undefined : await passkeys.findPresentedPasskey(runner.database, hash);
    if (ceremony === undefined) return this.#refuse(attempt, context, "no challenge, or an expired one");
    if (passkey?.tenant_id !== user.tenantId || passkey.user_id !== user.id) {
      return this.#refuse(attempt, context, "the passkey is not the user's");
    }
    const verified = await passkeys.verifyAuthentication(response, ceremony.challenge, passkey, this.#relyingParty);
    if ("refused" in verified) return this.#refuse(attempt, context, verified.refused);
    const now = runner.clock.now();
    const accepted = await this.#inTenant(user.tenantId, async (tx) => {
      if (!(await this.#accept(tx, ceremony))) return false;
      if (!(await passkeys.notePasskeyUse(tx, passkey.id, now, verified))) return false;
      await reauthenticateSession(tx, session.id, { at: now, now }, { acr: null, amr: passkeyMethods });
      return true;
    });
    if (!accepted) await this.#refuse(attempt, context, "the challenge was answered before, or the passkey removed");
  }

  async renewRecoveryCode(caller: Caller, context: SignInContext): Promise<string> {
    const { session, user } = await this.#requirePerson(caller, { recent: true });
    let code = "";
    const attempt = { tenantId: user.tenantId, method: "passkey", user } as const;
    await this.#command("renewRecoveryCode", attempt, context, async (tx, now) => {
      await lockUserOfSession(tx, session.userId);
      await requireOpenSession(tx, session);
      code = await issueRecoveryCode(tx, user, now);
    });
    return code;
  }

  get #relyingParty(): passkeys.RelyingParty {
    return passkeys.relyingPartyOf(new URL(this.publicUrl));
  }

  #begin(purpose: CeremonyPurpose, binding: string) {
    const { runner } = this.#options;
    return beginCeremony(runner.secrets.signInChallenges, purpose, binding, runner.clock.now());
  }

  #open(purpose: CeremonyPurpose, binding: string, { ceremony }: SignInContext): Ceremony | undefined {
    const { runner } = this.#options;
    return openCeremony(runner.secrets.signInChallenges, purpose, binding, ceremony, runner.clock.now());
  }

  #accept(tx: TenantTx, ceremony: Ceremony): Promise<boolean> {
    const now = this.#options.runner.clock.now();
    return queries.acceptChallenge(tx, challengeHash(ceremony), ceremony.expiresAt, now);
  }

  /** Begins the session and logs the sign-in, in one transaction. */
  async #beginSession(tx: TenantTx, attempt: Attempt, { address, userAgent }: SignInContext, amr: readonly string[]) {
    const now = this.#options.runner.clock.now();
    const { method, user } = attempt;
    const userId = user?.id ?? "";
    await queries.insertSignInAttempt(tx, { ...loggedAttempt(attempt, address, userAgent), reason: null }, now);
    return beginSession(tx, { userId, method, address, userAgent, authTime: now, amr }, now);
  }

  async #addPasskey(
    tx: CommandTx,
    user: Pick<SignedInUser, "id" | "email">,
    passkey: Omit<Parameters<typeof passkeys.insertPasskey>[1], "id" | "userId">,
    now: Date,
  ): Promise<object> {
    const row = await passkeys.insertPasskey(tx, { ...passkey, id: newId(), userId: user.id }, now);
    tx.record({ type: "passkey", id: row.id, name: row.name, after: passkeys.auditedPasskey(row) });
    return passkeys.passkeyView(row);
  }

  async #requireLink(context: SignInContext, token: string) {
    const { runner, log } = this.#options;
    const presented = await findPresentedLink(runner, token);
    if (presented === undefined) {
      log.info({ requestId: context.requestId, address: context.address }, "unknown enrolment link or code");
      throw new AppError("sign_in_failed");
    }
    const { link, refused } = presented;
    const user = await this.#readUser(link.tenant_id, link.user_id);
    const attempt = { tenantId: link.tenant_id, method: "enrolment-link", user } as const;
    if (refused !== undefined) return this.#refuse(attempt, context, refused);
    if (link.used_at !== null) return this.#refuse(attempt, context, "the link was used before");
    if (Date.parse(link.expires_at) <= runner.clock.now().getTime()) {
      return this.#refuse(attempt, context, "the link has expired");
    }
    if (user === undefined || user.status === "inactive") {
      return this.#refuse(attempt, context, "the user is deactivated");
    }
    const { singleSignOn, outgrown } = await this.#inTenant(link.tenant_id, async (tx) => ({
      singleSignOn: await requiresSingleSignOn(tx),
      outgrown: await isOutgrown(tx, link, user, runner.clock.now()),
    }));
    if (singleSignOn) return this.#refuse(attempt, context, "the tenant accepts only single sign-on");
    if (outgrown) {
      const reason = "the user holds permissions that the creator of the link does not hold";
      return this.#refuse(attempt, context, reason, "enrolment_link_outgrown");
    }
    return { link, user };
  }

  async #requirePerson(
    caller: Caller,
    { recent = false } = {},
  ): Promise<{ readonly session: PersonSession; readonly user: SignedInUser & { readonly tenantId: string } }> {
    const session = requirePerson(caller);
    if (recent) requireRecentAuthentication(caller, this.#options.runner.clock.now());
    const { tenantId = "" } = caller;
    const user = await this.#readUser(tenantId, session.userId);
    if (user === undefined) throw new AppError("session_ended");
    return { session, user: { ...user, tenantId } };
  }

  #readUser(tenantId: string, userId: string): Promise<SignedInUser | undefined> {
    return this.#inTenant(tenantId, (tx) => readSignedInUser(tx, userId));
  }

  #inTenant<T>(tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
    return this.#options.runner.database.transaction({ kind: "tenant", tenantId }, ({ query }) =>
      work({ tenantId, query }),
    );
  }

  /** Runs a recorded command as the person. */
  async #command(
    operation: string,
    { tenantId, user }: Attempt,
    { requestId, address }: SignInContext,
    work: (tx: CommandTx, now: Date) => Promise<void>,
  ): Promise<void> {
    const { runner } = this.#options;
    const at = runner.clock.now();
    const actor: Actor = { type: "user", name: user?.email ?? "", ...(user === undefined ? {} : { id: user.id }) };
    const origin = { actor, operation, requestId, sourceAddress: address, at };
    const scope = { kind: "tenant", tenantId } as const;
    // Enrolment activates a pending user, who then has access.
    const changesAccess = operation === "enrolPasskey";
    await runCommand(runner, { scope, tenantId, origin, idempotency: undefined, changesAccess }, async (tx) => {
      await work(tx, at);
      return empty();
    });
  }

  /** Logs a failed attempt for the tenant's administrators. The usual response says nothing about the reason. */
  async #refuse(
    attempt: Attempt,
    { address, userAgent }: SignInContext,
    reason: string,
    code: "sign_in_failed" | "enrolment_link_outgrown" = "sign_in_failed",
  ): Promise<never> {
    const now = this.#options.runner.clock.now();
    await this.#inTenant(attempt.tenantId, (tx) =>
      queries.insertSignInAttempt(tx, { ...loggedAttempt(attempt, address, userAgent), reason }, now),
    );
    throw new AppError(code);
  }

  async #signedIn(token: string, { address }: SignInContext): Promise<SignedIn> {
    return { token, info: await this.#options.sessions.describe(token, address) };
  }
}

function loggedAttempt({ method, user }: Attempt, address: string, userAgent: string | undefined) {
  return {
    id: newId(),
    userId: user?.id ?? null,
    userName: user?.email ?? null,
    method,
    address,
    userAgent: userAgent ?? "",
  };
}

function personOf({ id, email, firstName, lastName }: SignedInUser) {
  const fullName = `${firstName} ${lastName}`.trim();
  return { id, email, name: fullName === "" ? email : fullName };
}

function refusalText(reason: string): string {
  return `The browser's response was refused: ${reason}.`;
}
