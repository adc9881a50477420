/** When a mail that could not be sent is tried again, and when it fails. */

const minuteMs = 60_000;
/** The longest delay between two attempts, in milliseconds. */
export const maxDelayMs = 60 * minuteMs;
/** How long a mail can wait for the SMTP server to accept it, in milliseconds: 24 hours. */
export const maxPendingMs = 24 * 60 * minuteMs;

/** The result of an attempt. */
export interface MailResult {
  readonly status: "pending" | "sent" | "failed";
  readonly failures: number;
  readonly error: string | null;
  /** Null unless the email is pending. */
  readonly nextAttemptAt: Date | null;
}

/** A failed attempt. */
export interface MailFailure {
  readonly error: string;
  /** Whether the SMTP server refused this mail, so that another attempt is of no use. */
  readonly refused: boolean;
}

/**
 * The result of a failed attempt. The delay doubles from a minute to an hour. The last attempt is made when the mail is
 * 24 hours old.
 *
 * @param failures the number of failed attempts before this one
 */
export function afterFailure(
  { error, refused }: MailFailure,
  { createdAt, failures }: { readonly createdAt: Date; readonly failures: number },
  now: Date,
): MailResult {
  const endsMs = createdAt.getTime() + maxPendingMs;
  const count = failures + 1;
  if (refused) return { status: "failed", failures: count, error, nextAttemptAt: null };
  if (now.getTime() >= endsMs) {
    return { status: "failed", failures: count, error: `Not sent within 24 hours. ${error}`, nextAttemptAt: null };
  }
  const delayMs = Math.min(minuteMs * 2 ** Math.min(failures, 20), maxDelayMs);
  const nextAttemptAt = new Date(Math.min(now.getTime() + delayMs, endsMs));
  return { status: "pending", failures: count, error, nextAttemptAt };
}
