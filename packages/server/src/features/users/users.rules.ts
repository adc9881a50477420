import type { UserStatus } from "@gatehouse/contract/records/user";

/** How long an invitation can be accepted, in milliseconds (contract, "Records"). */
export const invitationLifetimeMs = 7 * 24 * 60 * 60 * 1000;

/** A user's status, and the one that reactivation restores. */
export interface StatusState {
  readonly status: UserStatus;
  /** Set exactly while the user is inactive. */
  readonly status_before: "pending" | "active" | null;
}

/** @returns undefined when the user is inactive already */
export function deactivated({ status }: StatusState): StatusState | undefined {
  return status === "inactive" ? undefined : { status: "inactive", status_before: status };
}

/** @returns undefined when the user is not inactive */
export function reactivated({ status, status_before: before }: StatusState): StatusState | undefined {
  return status === "inactive" && before !== null ? { status: before, status_before: null } : undefined;
}

/** @param expiresAt ISO 8601; null for a user whom nobody invited */
export function hasExpired(expiresAt: string | null, now: Date): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= now.getTime();
}
