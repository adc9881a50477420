import type { RoleType } from "@gatehouse/contract/permissions";
import type { UserStatus } from "@gatehouse/contract/records/user";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { roleHeldBy } from "../roles/roles.api.ts";

/** The state of a user on which a session depends. */
export interface SignedInUser {
  readonly id: string;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly isOwner: boolean;
  readonly status: UserStatus;
  readonly tenantName: string;
  readonly tenantSlug: string;
  /** The types of direct and inherited roles. */
  readonly roles: readonly RoleType[];
}

const select = statement<SignedInUser, [tenantId: string, id: string]>(
  "sessions.read_signed_in_user",
  `SELECT item.id, item.email, item.first_name AS "firstName", item.last_name AS "lastName", item.is_owner AS "isOwner",
     item.status, (SELECT name FROM tenants WHERE id = $1) AS "tenantName",
     (SELECT slug FROM tenants WHERE id = $1) AS "tenantSlug",
     coalesce((SELECT json_agg(role.type) FROM roles AS role
               WHERE role.tenant_id = item.tenant_id AND ${roleHeldBy("item")}), '[]') AS roles
   FROM users AS item WHERE item.tenant_id = $1 AND item.id = $2`,
);

/** Reads the user of a session, with the roles that the user holds now. */
export async function readSignedInUser(tx: TenantTx, id: string): Promise<SignedInUser | undefined> {
  return (await tx.query(select, tx.tenantId, id))[0];
}

const lock = statement<{ readonly status: UserStatus }, [tenantId: string, id: string]>(
  "sessions.lock_user",
  "SELECT status FROM users WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE",
);

const lockWithSession = statement<never, [tenantId: string, sessionId: string]>(
  "sessions.lock_user_with_session",
  `SELECT FROM users WHERE tenant_id = $1
     AND id = (SELECT user_id FROM sessions WHERE tenant_id = $1 AND id = $2) FOR NO KEY UPDATE`,
);

/**
 * Locks a user until the transaction ends. Commands lock the user first if they begin a session, add a way to sign in,
 * or remove either. Otherwise a sign-in in progress could outlast a deactivation or a reset of passkeys, and a check of
 * what the user holds could miss a role that is being given.
 *
 * @returns the status; undefined for a deleted user
 */
export async function lockUserOfSession(tx: TenantTx, id: string): Promise<UserStatus | undefined> {
  return (await tx.query(lock, tx.tenantId, id))[0]?.status;
}

/** Locks the user who has a session, like `lockUserOfSession`. */
export async function lockUserWithSession(tx: TenantTx, sessionId: string): Promise<void> {
  await tx.query(lockWithSession, tx.tenantId, sessionId);
}
