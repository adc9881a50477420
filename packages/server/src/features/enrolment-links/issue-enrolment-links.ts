/** One-time links with which people register their first passkeys (docs/decisions/0107-enrolment-links.md). */
import type { EnrolmentLink } from "@gatehouse/contract/records/enrolment-link";
import type { Actor } from "../../platform/change.ts";
import { newId } from "../../platform/ids.ts";
import type { SecretBox } from "../../platform/secrets/master-key.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { mailedTokenContext, pendingMail, queueMails } from "../mail/mail.api.ts";
import { generateEnrolmentCode } from "./enrolment-code.rules.ts";
import * as queries from "./enrolment-links.queries.ts";
import { linkView } from "./enrolment-links.view.ts";

/** How long a link can be used, in milliseconds. */
const enrolmentLinkMs = 7 * 24 * 60 * 60_000;

export interface LinkedUser {
  readonly id: string;
  readonly email: string;
}

export interface IssueOptions {
  readonly at: Date;
  /** The creator, whose permissions limit what the links give. */
  readonly by: Actor;
  /** Encrypts codes, and the tokens of links that are sent by mail. */
  readonly box: SecretBox;
  /** The mails of the tenant per day, to send each link to its user. If absent, none is sent. */
  readonly mailsPerDay?: number | undefined;
}

/** A new link. Its token and its code are shown once. */
export interface IssuedEnrolmentLink {
  readonly view: EnrolmentLink;
  readonly token: string;
  readonly code: string;
}

/** Stores a link for each user, and records it. The caller has checked that it may act for the users. */
export async function issueEnrolmentLinks(
  tx: CommandTx,
  users: readonly LinkedUser[],
  { at, by, box, mailsPerDay }: IssueOptions,
): Promise<readonly IssuedEnrolmentLink[]> {
  const expiresAt = new Date(at.getTime() + enrolmentLinkMs);
  const { tenantId } = tx;
  const mail = mailsPerDay !== undefined;
  const made = users.map((user) => ({
    id: newId(),
    user,
    token: generateToken(tokenPrefixes.enrolmentLink),
    code: generateEnrolmentCode(),
  }));
  const rows = made.map(({ id, user, token, code }) => ({
    id,
    userId: user.id,
    tokenHash: hashToken(token),
    codeLocatorHash: hashToken(code.locator),
    codeCiphertext: box.seal(code.secret, codeContext(tenantId, id)),
    mailedTokenCiphertext: mail ? box.seal(token, mailedTokenContext(tenantId, id)) : null,
  }));
  await queries.insertLinks(tx, rows, { at, expiresAt, creator: by });
  if (mail) {
    await queueMails(
      tx,
      made.map(({ id, user }) => ({ userId: user.id, email: user.email, linkId: id })),
      { perTenant: mailsPerDay, at },
    );
  }
  return made.map(({ id, user, token, code }) => {
    const view = linkView({
      id,
      user_id: user.id,
      created_at: at.toISOString(),
      expires_at: expiresAt.toISOString(),
      used_at: null,
      failed_attempts: 0,
      mail: mail ? pendingMail(at) : null,
    });
    const { mail: _, ...after } = view;
    tx.record({ type: "enrolment-link", id, name: user.email, after });
    return { view, token, code: code.text };
  });
}

/**
 * Tells users how to sign in by mail: with a link each, or with the page of sign-in if the tenant accepts only identity
 * providers.
 */
export async function notifyUsers(
  tx: CommandTx,
  users: readonly LinkedUser[],
  { at, by, box, mailsPerDay }: IssueOptions & { readonly mailsPerDay: number },
): Promise<void> {
  if (users.length === 0) return;
  if (await queries.requiresSingleSignOn(tx)) {
    await queueMails(
      tx,
      users.map(({ id, email }) => ({ userId: id, email, linkId: null })),
      { perTenant: mailsPerDay, at },
    );
    return;
  }
  await issueEnrolmentLinks(tx, users, { at, by, box, mailsPerDay });
}

/** Revokes links, and records that. */
export async function revokeLinks(
  tx: CommandTx,
  links: readonly queries.EnrolmentLinkRow[],
  email: string,
): Promise<void> {
  await queries.deleteLinks(
    tx,
    links.map(({ id }) => id),
  );
  for (const link of links) {
    tx.record({ type: "enrolment-link", id: link.id, name: email, before: linkView({ ...link, mail: null }) });
  }
}

/** Whether a user has a link that can be used. Locks the user's links. */
export async function hasOpenLink(tx: TenantTx, userId: string, now: Date): Promise<boolean> {
  const links = await queries.lockLinksOfUser(tx, userId);
  return links.some(({ used_at: usedAt, expires_at: end }) => usedAt === null && Date.parse(end) > now.getTime());
}

/** Revokes the links of a user that were not used. */
export async function revokeOpenLinks(tx: CommandTx, user: LinkedUser): Promise<void> {
  const open = (await queries.lockLinksOfUser(tx, user.id)).filter(({ used_at: usedAt }) => usedAt === null);
  await revokeLinks(tx, open, user.email);
}

/** The path of a link, below the public address. The token is in the fragment, which browsers do not send. */
export function enrolmentPath(token: string): string {
  return `/console/enrol#${token}`;
}

/** The context to which the code of a link is bound. */
export function codeContext(tenantId: string, id: string): string {
  return `enrolment-code:${tenantId}:${id}`;
}
