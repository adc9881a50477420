/** The limits of a caller's key in addition to its permissions. */
export interface KeyLimits {
  /** ISO 8601; null for a key that never expires. */
  readonly expiresAt: string | null;
  /** Addresses and CIDRs that the key can be used from; empty for any address. */
  readonly sourceIps: readonly string[];
}
