import type { ProblemField } from "@gatehouse/contract/problem";
import { defaultKeyDays, type EnrolmentKeyStatus, maxKeyDays } from "@gatehouse/contract/records/enrolment-key";

const dayMs = 86_400_000;

export interface KeyState {
  readonly revoked_at: string | null;
  readonly expires_at: string;
  readonly uses: number;
  readonly max_uses: number;
}

/** The state of a key. A key that ended for several reasons shows the one that an administrator chose. */
export function enrolmentKeyStatus(key: KeyState, now: Date): EnrolmentKeyStatus {
  if (key.revoked_at !== null) return "revoked";
  if (Date.parse(key.expires_at) <= now.getTime()) return "expired";
  return key.uses >= key.max_uses ? "used-up" : "active";
}

/** The expiry of a key for which none was requested: it does not outlive the calling key. */
export function defaultExpiry(callerExpiresAt: string | null | undefined, now: Date): Date {
  const usual = now.getTime() + defaultKeyDays * dayMs;
  return new Date(callerExpiresAt ? Math.min(usual, Date.parse(callerExpiresAt)) : usual);
}

/** The problem if the expiry of a key is not in the future, or too far in it. */
export function keyExpiryProblem(expiresAt: Date, now: Date): ProblemField | undefined {
  const aheadMs = expiresAt.getTime() - now.getTime();
  const text = expiresAt.toISOString();
  if (aheadMs <= 0) return { pointer: "/expiresAt", message: `${text} is not in the future` };
  if (aheadMs <= maxKeyDays * dayMs) return undefined;
  return { pointer: "/expiresAt", message: `${text} is more than ${maxKeyDays} days ahead` };
}

/** The sentence if a key would outlive the API key that creates or extends it. */
export function outlivesCaller(expiresAt: Date, callerExpiresAt: string | null | undefined): string | undefined {
  if (!callerExpiresAt || expiresAt.getTime() <= Date.parse(callerExpiresAt)) return undefined;
  return `The calling key expires at ${callerExpiresAt}; the enrolment key would at ${expiresAt.toISOString()}.`;
}
