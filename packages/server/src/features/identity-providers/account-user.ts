/** The user of an account at a provider, and the rules of first sign-ins (docs/decisions/0111). */
import { isEmail } from "@gatehouse/contract/email";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import { isVerifiedDomain } from "../domains/domains.api.ts";
import { lockGroupsOfNewUsers } from "../groups/groups.api.ts";
import { activateUser, createSignedInUser } from "../users/users.api.ts";
import * as identities from "./external-identities.queries.ts";
import type { ProviderRow } from "./identity-providers.queries.ts";
import type { ProviderIdentity } from "./provider-claims.ts";

export type NamedUser = Pick<identities.LinkedUser, "id" | "email">;

/** The identity is genuine, and its person cannot sign in. The message is for administrators. */
export class NotAdmitted extends Error {
  /** The user of the identity, or undefined. */
  readonly user: NamedUser | undefined;

  constructor(message: string, user?: NamedUser) {
    super(message);
    this.user = user;
  }
}

/**
 * The user of an account. An account that belongs to no user yet is linked only as the provider's settings permit, and
 * only by a verified address: an address that anybody can claim must not open the account of its owner.
 *
 * @throws NotAdmitted
 */
export async function userOf(
  tx: CommandTx,
  { id: providerId, name, settings }: ProviderRow,
  identity: ProviderIdentity,
  now: Date,
): Promise<identities.LinkedUser> {
  const { issuer, subject, email, emailVerified } = identity;
  const account = { providerId, issuer, subject };
  const linked = await identities.lockLinkedUser(tx, account);
  if (linked !== undefined) {
    if (linked.status !== "active") throw new NotAdmitted(`the user ${linked.email} is ${linked.status}`, linked);
    await identities.touchAccount(tx, account, now);
    return linked;
  }
  if (email === undefined || !emailVerified) {
    throw new NotAdmitted("the account belongs to no user, and the provider did not verify its email address");
  }
  const own = settings.firstSignIn === "OWN_DOMAINS" && (await isInOwnDomain(tx, email));
  const user =
    (await identities.lockUserByEmail(tx, email)) ?? (own ? await createUser(tx, identity, email, now) : undefined);
  if (user === undefined) throw new NotAdmitted(`no user has the email address ${email}`);
  if (user.status === "inactive") throw new NotAdmitted(`the user ${user.email} is inactive`, user);
  if (user.status === "active" && user.isNew !== true && !settings.linkVerifiedEmail) {
    throw new NotAdmitted(`the account is not linked to ${user.email}, and linkVerifiedEmail is off`, user);
  }
  if (user.status === "pending") {
    if (settings.firstSignIn === "NEVER") {
      throw new NotAdmitted(`${user.email} is invited, and firstSignIn is NEVER`, user);
    }
    const { invitationExpiresAt: end } = user;
    if (!own && end !== null && new Date(end) <= now)
      throw new NotAdmitted(`the invitation of ${user.email} has expired`, user);
    await activateUser(tx, grantedToSystem(), user.id, now);
  }
  await identities.linkAccount(tx, account, user.id, now);
  const after = { linkedUserId: user.id, linkedUserEmail: user.email, issuer, subject };
  tx.record({ type: "identity-provider", id: providerId, name, before: {}, after });
  return user;
}

async function isInOwnDomain(tx: CommandTx, email: string): Promise<boolean> {
  return isEmail(email) && isVerifiedDomain(tx, email.slice(email.lastIndexOf("@") + 1).toLowerCase());
}

/** @returns undefined if somebody else created a user with the address at the same time */
async function createUser(
  tx: CommandTx,
  { firstName = "", lastName = "" }: ProviderIdentity,
  email: string,
  now: Date,
): Promise<identities.LinkedUser | undefined> {
  const groupIds = await lockGroupsOfNewUsers(tx);
  const person = { email, firstName: firstName.slice(0, 120), lastName: lastName.slice(0, 120), groupIds };
  const id = await createSignedInUser(tx, grantedToSystem(), person, now);
  return id === undefined ? undefined : { id, email, status: "active", invitationExpiresAt: null, isNew: true };
}
