/** Signing in at an identity provider (docs/decisions/0093-openid-connect.md). */
import type {
  DepartureReason,
  OfferedProvider,
  ProviderDeparture,
  ProviderReturn,
  ProviderSignIn,
  ProviderVisit,
  SignInOffer,
} from "../../http/provider-sign-in.ts";
import { AppError } from "../../platform/app-error.ts";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import { type CommandRunner, runCommand } from "../../platform/command.ts";
import { newId, nilId } from "../../platform/ids.ts";
import type { Log } from "../../platform/log.ts";
import { empty } from "../../platform/outcome.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { findNamedTenant } from "../domains/domains.api.ts";
import { lockMappedGroups } from "../groups/groups.api.ts";
import { beginSession, lockPersonSession, reauthenticateSession } from "../sessions/sessions.api.ts";
import { acceptChallenge, insertSignInAttempt } from "../sign-in/sign-in.api.ts";
import { applyMappedGroups } from "../users/users.api.ts";
import { type NamedUser, NotAdmitted, userOf } from "./account-user.ts";
import * as identities from "./external-identities.queries.ts";
import { secretContext } from "./identity-providers.commands.ts";
import * as queries from "./identity-providers.queries.ts";
import { postLogoutRedirectUri, redirectUri, signInUrl } from "./identity-providers.view.ts";
import { readProviderKeys, verifyLogoutToken } from "./logout-token.ts";
import {
  ceremonyHash,
  isTestTicket,
  type OpenedCeremony,
  openIdToken,
  openSignIn,
  sealIdToken,
  sealSignIn,
} from "./provider-ceremonies.ts";
import type { ProviderIdentity } from "./provider-claims.ts";
import { endNamedSessions } from "./provider-logout.ts";
import { ProviderVisits } from "./provider-visits.ts";
import {
  finishSignIn,
  type Provider,
  type ProviderAccess,
  readPages,
  SignInFailure,
  signOutUrl,
  startSignIn,
} from "./relying-party.ts";

/** The author of what follows from answers of providers. */
const actor = { type: "system", name: "Gatehouse" } as const;

export interface OpenIdSignInOptions {
  readonly runner: CommandRunner;
  readonly log: Log;
}

const groupsUnknown =
  "the provider did not send the person's groups, because there are too many (_claim_names): memberships are unchanged";

export class OpenIdSignIn implements ProviderSignIn {
  readonly #options: OpenIdSignInOptions;
  readonly #visits: ProviderVisits;

  constructor(options: OpenIdSignInOptions) {
    this.#options = options;
    this.#visits = new ProviderVisits(options.runner.clock);
  }

  async depart(
    visit: ProviderVisit,
    { ticket, session, returnTo }: DepartureReason,
  ): Promise<ProviderDeparture | "unreachable" | "busy" | undefined> {
    const { runner } = this.#options;
    const box = runner.secrets.signInChallenges;
    const row = await this.#read(visit);
    if (row === undefined) return undefined;
    const version = { ...visit, version: row.version };
    const now = runner.clock.now();
    const purpose = session !== undefined ? "confirmation" : ticket === undefined ? "sign-in" : "test";
    if (purpose === "test" ? !isTestTicket(box, version, now, ticket ?? "") : !row.enabled) return undefined;
    const provider = this.#provider(visit, row);
    try {
      const read = () => readPages(provider, this.#access(visit));
      // A test shows the current metadata.
      const pages = await (purpose === "test"
        ? this.#visits.readFreshPages(visit, read)
        : this.#visits.readPages(version, read));
      if (pages === "busy") return "busy";
      const asksAgain = purpose === "confirmation";
      const redirectTo = this.#redirectUri(visit);
      const options = { pages, redirectUri: redirectTo, asksAgain, ...(asksAgain ? { maxAgeSeconds: 0 } : {}) };
      const { url, secrets } = await startSignIn(provider, this.#access(visit), options);
      return { url: url.href, ceremony: sealSignIn(box, version, now, { purpose, secrets, session, returnTo }) };
    } catch (error) {
      this.#warn(visit, reasonOf(error));
      return "unreachable";
    }
  }

  async arrive(visit: ProviderVisit, query: string, ceremony: string | undefined): Promise<ProviderReturn> {
    const { runner } = this.#options;
    const row = await this.#read(visit);
    if (row === undefined) return { kind: "refused", unreachable: false };
    const box = runner.secrets.signInChallenges;
    const opened =
      ceremony === undefined
        ? undefined
        : openSignIn(box, { ...visit, version: row.version }, runner.clock.now(), ceremony);
    if (opened === undefined || (opened.purpose !== "test" && !row.enabled)) {
      this.#warn(visit, "the browser holds no sign-in that is under way");
      return { kind: "refused", unreachable: false };
    }
    try {
      const callback = new URL(`${this.#redirectUri(visit)}${query}`);
      const identity = await this.#visits.finish(visit, () =>
        finishSignIn(this.#provider(visit, row), this.#access(visit), callback, opened.secrets),
      );
      if (identity === "busy") return { kind: "busy" };
      if (opened.purpose === "test") return await this.#tested(visit, row, identity);
      if (opened.purpose === "confirmation") return await this.#confirmed(visit, row, identity, opened);
      const now = runner.clock.now();
      const idToken = sealIdToken(box, visit, now, identity.idToken);
      const token = await this.#admit(visit, row, identity, opened);
      return { kind: "signed-in", token, idToken, returnTo: opened.returnTo };
    } catch (error) {
      const reason = await this.#failed(visit, row, error);
      if (opened.purpose === "test") return { kind: "tested", succeeded: false, lines: [reason] };
      const unreachable = error instanceof SignInFailure && error.code === "provider_unreachable";
      return { kind: "refused", unreachable, returnTo: opened.returnTo };
    }
  }

  async offer({ tenantId, providerId }: ProviderVisit): Promise<SignInOffer | undefined> {
    const row = await this.#options.runner.database.snapshot({ kind: "tenant", tenantId }, ({ query }) =>
      queries.readSignInOffer({ tenantId, query }, providerId),
    );
    if (row === undefined) return undefined;
    const { tenantName, providerName, issuer } = row;
    return { tenantName, providerName, providerHost: new URL(issuer).host };
  }

  async find(name: string): Promise<readonly OfferedProvider[]> {
    const { database } = this.#options.runner;
    // Without a tenant, the same queries run, so that their time does not reveal which tenants exist.
    const tenantId = (await findNamedTenant(database, name.slice(name.lastIndexOf("@") + 1).toLowerCase())) ?? nilId;
    const rows = await database.snapshot({ kind: "tenant", tenantId }, ({ query }) =>
      queries.listEnabledProviders({ tenantId, query }),
    );
    return rows.map((row) => ({ name: row.name, path: signInUrl({ publicUrl: "", tenantId }, row.id) }));
  }

  async signOut(
    visit: ProviderVisit,
    idToken: string | undefined,
  ): Promise<string | "unreachable" | "busy" | undefined> {
    const { runner } = this.#options;
    const row = await this.#read(visit);
    if (row === undefined) return undefined;
    const box = runner.secrets.signInChallenges;
    const opened = idToken === undefined ? undefined : openIdToken(box, visit, runner.clock.now(), idToken);
    const redirectTo = postLogoutRedirectUri({ publicUrl: runner.publicUrl() });
    const provider = this.#provider(visit, row);
    try {
      const read = () => readPages(provider, this.#access(visit));
      const pages = await this.#visits.readPages({ ...visit, version: row.version }, read);
      if (pages === "busy") return "busy";
      return (await signOutUrl(provider, this.#access(visit), { pages, redirectUri: redirectTo, idToken: opened }))
        ?.href;
    } catch (error) {
      this.#warn(visit, reasonOf(error), "sign-out at an identity provider failed");
      return "unreachable";
    }
  }

  async endSessions(visit: ProviderVisit, token: string): Promise<"ended" | "refused" | "unreachable" | "busy"> {
    return this.#visits.logOut(visit, () => this.#endSessions(visit, token));
  }

  async #endSessions(visit: ProviderVisit, token: string): Promise<"ended" | "refused" | "unreachable"> {
    const row = await this.#read(visit);
    if (row === undefined) return "refused";
    const now = this.#options.runner.clock.now();
    const provider = this.#provider(visit, row);
    try {
      const readKeys = () =>
        this.#visits.readKeys({ ...visit, version: row.version }, () =>
          readProviderKeys(provider, this.#access(visit)),
        );
      const request = await verifyLogoutToken(provider, readKeys, token, now);
      await this.#run(visit, "backChannelLogout", (tx) => endNamedSessions(tx, row.id, request, now, actor));
      return "ended";
    } catch (error) {
      this.#warn(visit, reasonOf(error), "back-channel logout failed");
      return error instanceof SignInFailure && error.code === "provider_unreachable" ? "unreachable" : "refused";
    }
  }

  /** Stores that the person of the session authenticated again. */
  async #confirmed(
    visit: ProviderVisit,
    row: queries.ProviderRow,
    { issuer, subject, acr, amr, authTime, sessionExpiresAt: endsBy }: ProviderIdentity,
    ceremony: OpenedCeremony,
  ): Promise<ProviderReturn> {
    const { session } = ceremony;
    await this.#run(visit, "confirmIdentity", async (tx, now) => {
      const user = await identities.lockLinkedUser(tx, { providerId: row.id, issuer, subject });
      const held = session === undefined ? undefined : await lockPersonSession(tx, session.id);
      if (user === undefined || user.status !== "active" || held?.user_id !== user.id) {
        throw new NotAdmitted("the account that confirmed is not the one of the session", user);
      }
      if (authTime === undefined) throw new NotAdmitted("the provider sent no time of authentication", user);
      if (endsBy !== undefined && endsBy <= now) throw new NotAdmitted("the provider's session has expired", user);
      await requireUnfinished(tx, ceremony, now, user);
      const times = { at: authTime < now ? authTime : now, now };
      await reauthenticateSession(tx, held.id, times, { acr: acr ?? null, amr }, endsBy);
      await this.#logAttempt(tx, visit, row, { user, reason: null, note: "the person confirmed the identity again" });
    });
    return { kind: "confirmed" };
  }

  #access({ tenantId }: ProviderVisit): ProviderAccess {
    const { providerNetworks: networks, exchange } = this.#options.runner;
    return { tenantId, networks, exchange };
  }

  #redirectUri({ tenantId, providerId }: ProviderVisit): string {
    return redirectUri({ publicUrl: this.#options.runner.publicUrl(), tenantId }, providerId);
  }

  #read({ tenantId, providerId }: ProviderVisit): Promise<queries.ProviderRow | undefined> {
    return this.#options.runner.database.snapshot({ kind: "tenant", tenantId }, (transaction) =>
      queries.readProvider({ tenantId, query: transaction.query }, providerId),
    );
  }

  #provider({ tenantId }: ProviderVisit, row: queries.ProviderRow): Provider {
    const { client_secret_ciphertext: sealed, settings } = row;
    const box = this.#options.runner.secrets.providerSecrets;
    return {
      issuer: row.issuer,
      clientId: row.client_id,
      clientSecret: sealed === null ? undefined : box.open(sealed, secretContext(tenantId, row.id)),
      scopes: settings.scopes,
      groupsClaim: settings.groupsClaim,
    };
  }

  /** Stores that the provider works, unless its settings have changed since. */
  async #tested(visit: ProviderVisit, row: queries.ProviderRow, identity: ProviderIdentity): Promise<ProviderReturn> {
    await this.#run(visit, "testIdentityProvider", async (tx, now) => {
      const locked = await queries.lockProvider(tx, row.id);
      if (locked?.version !== row.version) throw new NotAdmitted("the settings changed during the test");
      const before = { testedAt: locked.tested_at };
      const tested = { ...locked, tested_at: now.toISOString() };
      await queries.updateProvider(tx, grantedToSystem(), tested, now);
      tx.record({
        type: "identity-provider",
        id: row.id,
        name: row.name,
        before,
        after: { testedAt: tested.tested_at },
      });
    });
    const { groups, groupOverage } = identity;
    return {
      kind: "tested",
      succeeded: true,
      lines: [
        `Subject: ${identity.subject}`,
        `Email address: ${identity.email ?? "none"} (${identity.emailVerified ? "verified" : "not verified"})`,
        `Groups: ${groupOverage ? "too many for the provider to send" : (groups ?? ["none"]).slice(0, 50).join(", ")}`,
      ],
    };
  }

  /** @returns the token of the new session */
  async #admit(
    visit: ProviderVisit,
    row: queries.ProviderRow,
    identity: ProviderIdentity,
    ceremony: OpenedCeremony,
  ): Promise<string> {
    let token = "";
    await this.#run(visit, "signIn", async (tx, now) => {
      const locked = await queries.lockProvider(tx, row.id);
      if (locked?.version !== row.version || !locked.enabled) {
        throw new NotAdmitted("the provider changed during the sign-in");
      }
      const { sessionExpiresAt: expiresAt, session, acr, amr } = identity;
      if (expiresAt !== undefined && expiresAt <= now) throw new NotAdmitted("the provider's session has expired");
      // Lock the groups before the user: deleting a group locks in this order.
      const groupIds = await lockMappedGroups(tx, identity.groups ?? []);
      const user = await userOf(tx, locked, identity, now);
      await requireUnfinished(tx, ceremony, now, user);
      if (!identity.groupOverage) {
        await applyMappedGroups(tx, grantedToSystem(), { userId: user.id, providerId: row.id, groupIds }, now);
      }
      const begun = await beginSession(
        tx,
        {
          userId: user.id,
          method: "oidc",
          address: visit.address,
          userAgent: visit.userAgent,
          authTime: identity.authTime !== undefined && identity.authTime < now ? identity.authTime : now,
          amr,
          acr,
          provider: { id: row.id, session, expiresAt },
        },
        now,
      );
      const note = identity.groupOverage ? groupsUnknown : undefined;
      await this.#logAttempt(tx, visit, row, { user, reason: null, note });
      token = begun.token;
    });
    return token;
  }

  async #run(
    { tenantId, requestId, address }: ProviderVisit,
    operation: string,
    work: (tx: CommandTx, now: Date) => Promise<void>,
  ): Promise<void> {
    const { runner } = this.#options;
    const now = runner.clock.now();
    const origin = { actor, operation, requestId, sourceAddress: address, at: now };
    const scope = { kind: "tenant", tenantId } as const;
    await runCommand(runner, { scope, tenantId, origin, idempotency: undefined, changesAccess: true }, async (tx) => {
      await work(tx, now);
      return empty();
    });
  }

  /** Logs a failed attempt for administrators. @returns the reason */
  async #failed(visit: ProviderVisit, row: queries.ProviderRow, error: unknown): Promise<string> {
    const reason = reasonOf(error);
    this.#warn(visit, reason);
    const { tenantId } = visit;
    const user = error instanceof NotAdmitted ? error.user : undefined;
    await this.#options.runner.database.transaction({ kind: "tenant", tenantId }, ({ query }) =>
      this.#logAttempt({ tenantId, query }, visit, row, { user, reason }),
    );
    return reason;
  }

  /** Only the log has failures of browsers that hold no sign-in: a request without credentials stores nothing. */
  #warn(
    { tenantId, providerId, requestId, address }: ProviderVisit,
    reason: string,
    message = "sign-in at an identity provider failed",
  ): void {
    const fields = { tenantId, providerId, requestId, address, reason };
    this.#options.log.warn(fields, message);
  }

  #logAttempt(
    tx: TenantTx,
    { address, userAgent = "" }: ProviderVisit,
    { id: providerId, name: providerName }: queries.ProviderRow,
    {
      user,
      reason,
      note,
    }: { readonly user: NamedUser | undefined; readonly reason: string | null; readonly note?: string | undefined },
  ): Promise<void> {
    const who = { userId: user?.id ?? null, userName: user?.email ?? null };
    const attempt = {
      id: newId(),
      ...who,
      method: "oidc",
      providerId,
      providerName,
      address,
      userAgent,
      reason,
      note,
    } as const;
    return insertSignInAttempt(tx, attempt, this.#options.runner.clock.now());
  }
}

/**
 * Finishes a ceremony, on all replicas. A test needs none: it changes the version of the provider. Passkeys lock the
 * user before they accept a challenge, so the caller has locked the user.
 *
 * @throws NotAdmitted if the ceremony was finished before
 */
async function requireUnfinished(tx: TenantTx, ceremony: OpenedCeremony, now: Date, user: NamedUser): Promise<void> {
  if (await acceptChallenge(tx, ceremonyHash(ceremony), new Date(ceremony.expiresAt), now)) return;
  throw new NotAdmitted("the sign-in was finished before", user);
}

/** Errors of commands that the groups of a person can cause. */
const refusals = {
  access_tests_broken: "the memberships that the provider's groups give would break enforced access tests",
  group_limit_reached: "the provider's groups would exceed the number of groups of a user",
} as const;

/** The reason of a refusal, for administrators. Other errors are thrown again. */
function reasonOf(error: unknown): string {
  if (error instanceof SignInFailure || error instanceof NotAdmitted) return error.message;
  if (error instanceof AppError && error.code in refusals) return refusals[error.code as keyof typeof refusals];
  throw error;
}
