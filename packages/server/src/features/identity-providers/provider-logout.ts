/** Ends the sessions that a provider names (docs/decisions/0112-sign-out-at-providers.md). */
import { createHash } from "node:crypto";
import type { Actor } from "../../platform/change.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import { endDeviceSessionsOfProvider } from "../devices/devices.api.ts";
import {
  deleteSessionsOfProvider,
  endUserSessions,
  type PersonSessionRow,
  readSignedInUser,
  sessionView,
} from "../sessions/sessions.api.ts";
import { acceptChallenge } from "../sign-in/sign-in.api.ts";
import * as identities from "./external-identities.queries.ts";
import type { LogoutRequest } from "./logout-token.ts";
import { SignInFailure } from "./relying-party.ts";

/**
 * A token that names a session ends what began with that session. A token that names only a person ends everything that
 * lets the person act.
 *
 * @throws SignInFailure if the token was used before
 */
export async function endNamedSessions(
  tx: CommandTx,
  providerId: string,
  { issuer, subject, session, tokenId, expiresAt }: LogoutRequest,
  now: Date,
  by: Actor,
): Promise<void> {
  const end = { at: now, reason: "signed-out-at-provider", by } as const;
  const hash = createHash("sha256").update(`logout:${providerId}:${tokenId}`).digest();
  if (!(await acceptChallenge(tx, hash, expiresAt, now))) {
    throw new SignInFailure("token_invalid", "the logout token was used before");
  }
  const user = subject === undefined ? undefined : await identities.lockLinkedUser(tx, { providerId, issuer, subject });
  // Nobody has signed in with this account.
  if (subject !== undefined && user === undefined) return;
  const ended =
    session !== undefined
      ? await deleteSessionsOfProvider(tx, providerId, session, user?.id ?? null)
      : await endUserSessions(tx, user?.id ?? "", end);
  if (session !== undefined) {
    // After the sessions of people, for the same reason as in `endUserSessions`.
    await endDeviceSessionsOfProvider(tx, { providerId, providerSession: session, userId: user?.id }, end);
  }
  for (const row of ended) await recordEnd(tx, row);
}

async function recordEnd(tx: CommandTx, row: PersonSessionRow): Promise<void> {
  const email = (await readSignedInUser(tx, row.user_id))?.email ?? "";
  tx.record({ type: "session", id: row.id, name: email, before: sessionView({ ...row, email }, undefined) });
}
