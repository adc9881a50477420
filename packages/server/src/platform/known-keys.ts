/** The WireGuard keys of gateways and devices as their rows have them. */
import type { KnownKey } from "@gatehouse/agent-protocol/link/key-proof";

export interface KeyColumns {
  /** `""` before the first link of a gateway. */
  readonly public_key: string;
  readonly key_proved: boolean;
  /** ISO 8601. */
  readonly key_reset_until: string | null;
}

export function knownKeyOf({ public_key: key, key_proved: isProved, key_reset_until: until }: KeyColumns): KnownKey {
  return {
    publicKey: key === "" ? undefined : key,
    isProved,
    resetUntil: until === null ? undefined : Date.parse(until),
  };
}

export function keyColumnsOf({ publicKey = "", isProved, resetUntil }: KnownKey): KeyColumns {
  return {
    public_key: publicKey,
    key_proved: isProved,
    key_reset_until: resetUntil === undefined ? null : new Date(resetUntil).toISOString(),
  };
}

/** How long a reset allows another key, in milliseconds. */
const resetMs = 24 * 3_600_000;

export function keyResetUntil(now: Date): Date {
  return new Date(now.getTime() + resetMs);
}
