import { type EnrolmentLink, maxCodeAttempts } from "@gatehouse/contract/records/enrolment-link";
import { mailView } from "../mail/mail.api.ts";
import type { ListedLinkRow } from "./enrolment-links.queries.ts";

type ShownColumns = Omit<ListedLinkRow, "tenant_id" | "code_ciphertext" | "created_by_type" | "created_by_id">;

export function linkView(row: ShownColumns): EnrolmentLink {
  return {
    id: row.id,
    createdAt: row.created_at,
    userId: row.user_id,
    expiresAt: row.expires_at,
    ...(row.used_at === null ? {} : { usedAt: row.used_at }),
    codeAttemptsLeft: Math.max(0, maxCodeAttempts - row.failed_attempts),
    ...(row.mail === null ? {} : { mail: mailView(row.mail) }),
  };
}
