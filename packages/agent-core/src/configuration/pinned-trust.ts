/** The pinned key that must sign configurations, and its rotation (docs/keys.md). */
import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import { leadsTo, type SigningKeyHandover } from "@gatehouse/agent-protocol/link/signing-key-handover";
import { isSignedBy } from "../crypto/signatures.ts";

export interface PinnedTrust {
  /** An Ed25519 public key: 32 bytes in base64. */
  readonly signingKey: string;
  /** The key that signed the latest configuration; absent: `signingKey`. */
  readonly latestSignedBy?: string | undefined;
  /** The latest configuration that was ever enforced, across restarts. */
  readonly latest?: ConfigurationName | undefined;
}

/**
 * Replaces the pinned key by an offered one, if the pinned key leads to it.
 *
 * @returns undefined if it does not
 */
export function rotatedTrust<Trust extends PinnedTrust>(
  known: Trust,
  signingKey: string,
  handovers: readonly SigningKeyHandover[],
): Trust | undefined {
  if (!leadsTo(known.signingKey, signingKey, handovers, isSignedBy)) return undefined;
  return { ...known, signingKey, latestSignedBy: known.latestSignedBy ?? known.signingKey };
}

/** The key that must have signed a configuration, and the trust after the agent has accepted it. */
export interface ExpectedSigner<Trust> {
  readonly signingKey: string;
  readonly accepted: Trust;
}

/**
 * Returns the expected signer of a configuration. Only the stored configuration may be older than the pinned key. Its
 * hash is pinned too.
 *
 * @param isNew whether the configuration comes from the control plane or a person, not from the state folder
 */
export function expectedSigner<Trust extends PinnedTrust>(
  trust: Trust,
  name: ConfigurationName,
  isNew: boolean,
): ExpectedSigner<Trust> {
  if (!isNew && name.hash === trust.latest?.hash) {
    return { signingKey: trust.latestSignedBy ?? trust.signingKey, accepted: { ...trust, latest: name } };
  }
  return { signingKey: trust.signingKey, accepted: { ...trust, latestSignedBy: undefined, latest: name } };
}
