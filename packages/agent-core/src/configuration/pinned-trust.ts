/** The pinned key that must sign configurations, and its rotation (docs/keys.md). */
import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import {
  handoversBetween,
  mostHandovers,
  type SigningKeyHandover,
} from "@gatehouse/agent-protocol/link/signing-key-handover";
import { isSignedBy } from "../crypto/signatures.ts";

export interface PinnedTrust {
  /** An Ed25519 public key: 32 bytes in base64. */
  readonly signingKey: string;
  /** The key that signed the latest configuration; absent: `signingKey`. */
  readonly latestSignedBy?: string | undefined;
  /** The latest configuration that was ever enforced, across restarts. */
  readonly latest?: ConfigurationName | undefined;
  /** The hand-overs from keys that were pinned before to `signingKey`, the oldest first. */
  readonly handovers?: readonly SigningKeyHandover[] | undefined;
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
  const path = handoversBetween(known.signingKey, signingKey, handovers, isSignedBy);
  if (path === undefined) return undefined;
  const latestSignedBy = known.latestSignedBy ?? known.signingKey;
  return {
    ...known,
    signingKey,
    latestSignedBy,
    handovers: [...(known.handovers ?? []), ...path].slice(-mostHandovers),
  };
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
