import type { Mail } from "@gatehouse/contract/records/enrolment-link";
import { isoTimestamp } from "../../platform/db/column-types.ts";

/** A mail as `mailOf` selects it. */
export interface MailJson {
  readonly status: Mail["status"];
  readonly updated_at: string;
  readonly error: string | null;
}

/** A mail that was just queued. */
export function pendingMail(at: Date): MailJson {
  return { status: "pending", updated_at: at.toISOString().replace("Z", "+00"), error: null };
}

export function mailView({ status, updated_at: updatedAt, error }: MailJson): Mail {
  return { status, updatedAt: isoTimestamp(updatedAt), ...(error === null ? {} : { error }) };
}
