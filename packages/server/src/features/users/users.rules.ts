import type { UserStatus } from "@gatehouse/contract/records/user";

/** The time for which an invitation can be accepted, in milliseconds (contract, "Records"). */
export const invitationLifetimeMs = 7 * 24 * 60 * 60 * 1000;

/** A user's status, and the status that reactivation restores. */
export interface StatusState {
  readonly status: UserStatus;
  /** Not null only while the user is inactive. */
  readonly status_before: "pending" | "active" | null;
}

/** @returns undefined if the user is already inactive */
export function deactivated({ status }: StatusState): StatusState | undefined {
  return status === "inactive" ? undefined : { status: "inactive", status_before: status };
}

/** @returns undefined if the user is not inactive */
export function reactivated({ status, status_before: before }: StatusState): StatusState | undefined {
  return status === "inactive" && before !== null ? { status: before, status_before: null } : undefined;
}

/** @param expiresAt ISO 8601; null for a user without an invitation */
export function hasExpired(expiresAt: string | null, now: Date): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= now.getTime();
}
