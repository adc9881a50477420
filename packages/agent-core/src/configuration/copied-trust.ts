/**
 * The trust of an agent that has two copies of its state. The stored one is in the state folder. The other one may be
 * later, for example because the disk was full. It is trusted only if it follows from the stored one.
 */
import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import { leadsTo } from "@gatehouse/agent-protocol/link/signing-key-handover";
import { isSignedBy } from "../crypto/signatures.ts";
import { type PinnedTrust, rotatedTrust } from "./pinned-trust.ts";

/**
 * Returns the stored trust with the later of the two pinned keys.
 *
 * @returns undefined if neither pinned key leads to the other
 */
export function joinedTrust<Trust extends PinnedTrust>(stored: Trust, copy: PinnedTrust): Trust | undefined {
  const isStoredLater = leadsTo(copy.signingKey, stored.signingKey, stored.handovers ?? [], isSignedBy);
  return isStoredLater ? stored : rotatedTrust(stored, copy.signingKey, copy.handovers ?? []);
}

/**
 * Returns the key that must have signed the configuration of the copy, if it is later than the stored one: the pinned
 * key, or a key between the two pinned ones.
 *
 * @param joined the trust of both
 */
export function signerOfCopy(
  name: ConfigurationName,
  { stored, copy, joined }: Readonly<Record<"stored" | "copy" | "joined", PinnedTrust>>,
): string {
  const { latest, latestSignedBy, handovers = [] } = copy;
  const isBetween =
    latestSignedBy !== undefined &&
    latest?.hash === name.hash &&
    leadsTo(stored.signingKey, latestSignedBy, handovers, isSignedBy) &&
    leadsTo(latestSignedBy, joined.signingKey, handovers, isSignedBy);
  return isBetween ? latestSignedBy : joined.signingKey;
}
