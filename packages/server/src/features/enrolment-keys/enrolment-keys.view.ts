import type { EnrolmentKey, NewEnrolmentKey } from "@gatehouse/contract/records/enrolment-key";
import type { EnrolmentKeyRow } from "./enrolment-keys.queries.ts";
import { enrolmentKeyStatus } from "./enrolment-keys.rules.ts";

/** @param now the time for which `status` is computed */
export function enrolmentKeyView(row: EnrolmentKeyRow, now: Date): EnrolmentKey {
  return {
    id: row.id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    name: row.name,
    prefix: row.prefix,
    status: enrolmentKeyStatus(row, now),
    user: { id: row.user_id, email: row.user_email },
    tags: row.tags,
    maxUses: row.max_uses,
    uses: row.uses,
    expiresAt: row.expires_at,
    ...(row.last_used_at === null ? {} : { lastUsedAt: row.last_used_at }),
    ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at }),
  };
}

/** @param key the secret, shown this once */
export function newEnrolmentKeyView(row: EnrolmentKeyRow, now: Date, key: string): NewEnrolmentKey {
  return { ...enrolmentKeyView(row, now), key };
}
