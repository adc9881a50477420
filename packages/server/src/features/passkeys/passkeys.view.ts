import type { Passkey } from "@gatehouse/contract/records/passkey";
import type { PasskeyRow } from "./passkeys.queries.ts";

export function passkeyView(row: PasskeyRow): Passkey {
  return {
    id: row.id,
    createdAt: row.created_at,
    userId: row.user_id,
    name: row.name,
    synced: row.backed_up,
    ...(row.last_used_at === null ? {} : { lastUsedAt: row.last_used_at }),
  };
}
