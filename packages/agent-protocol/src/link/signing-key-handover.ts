/** The rotation of a tenant's signing key: each key signs the next one, so that agents follow by themselves. */
import { closedObject } from "@gatehouse/contract/schema";
import Type, { type Static } from "typebox";
import { Signature, SigningKey, type VerifyText } from "./envelope.ts";

/** Separates hand-overs from other texts that the key signs. */
const signatureDomain = "gatehouse-signing-key/1";

/** The statement by which one signing key names its successor. */
export const SigningKeyHandover = closedObject({
  from: SigningKey,
  to: SigningKey,
  /** Signature by the first key. */
  signature: Signature,
});
export type SigningKeyHandover = Static<typeof SigningKeyHandover>;

/** The most hand-overs that a server sends: the newest ones. */
export const mostHandovers = 256;

/** The hand-overs of a tenant's keys in `welcome`, the oldest first. Absent until the first rotation. */
export const SigningKeyHandovers = Type.Optional(Type.Array(SigningKeyHandover, { maxItems: mostHandovers }));

/** Returns the text that the first key signs. */
export function handoverText({ from, to }: Pick<SigningKeyHandover, "from" | "to">): string {
  return `${signatureDomain}\n${from}\n${to}`;
}

/**
 * Whether the pinned key leads to the offered one: each key on the path has signed the next one. An agent that was
 * offline during several rotations follows all of them.
 *
 * @param handovers in any order
 */
export function leadsTo(
  pinned: string,
  offered: string,
  handovers: readonly SigningKeyHandover[],
  verify: VerifyText,
): boolean {
  return handoversBetween(pinned, offered, handovers, verify) !== undefined;
}

/** Returns the hand-overs on the path from the pinned key to the offered one; undefined if there is no path. */
export function handoversBetween(
  pinned: string,
  offered: string,
  handovers: readonly SigningKeyHandover[],
  verify: VerifyText,
): readonly SigningKeyHandover[] | undefined {
  const path: SigningKeyHandover[] = [];
  const seen = new Set<string>();
  for (let key = pinned; key !== offered; ) {
    seen.add(key);
    const from = key;
    const next = handovers.find(
      (handover) =>
        handover.from === from && !seen.has(handover.to) && verify(handoverText(handover), handover.signature, from),
    );
    if (next === undefined) return undefined;
    path.push(next);
    key = next.to;
  }
  return path;
}
