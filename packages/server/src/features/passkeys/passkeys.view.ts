import { createHash } from "node:crypto";
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

/** A passkey as audit entries show it. The fingerprint shows whether its public key was replaced. */
export function auditedPasskey(row: PasskeyRow): Passkey & { readonly fingerprint: string } {
  const fingerprint = createHash("sha256").update(row.credential_id).update(row.public_key).digest("hex");
  return { ...passkeyView(row), fingerprint };
}
