import type { Session } from "@gatehouse/contract/records/session";
import type { PersonSessionRow } from "./people-sessions.queries.ts";

/** @param currentId the session in which the request is made; undefined for keys */
export function sessionView(
  row: PersonSessionRow & { readonly email: string },
  currentId: string | undefined,
): Session {
  return {
    id: row.id,
    createdAt: row.created_at,
    user: { id: row.user_id, email: row.email },
    client: row.client,
    method: row.method,
    current: row.id === currentId,
    address: row.address,
    userAgent: row.user_agent,
    authenticatedAt: row.auth_time,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    idleSeconds: row.idle_seconds,
  };
}
