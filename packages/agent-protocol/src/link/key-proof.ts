/**
 * The proof that an agent has the private key of its WireGuard public key: gateway/SPEC.md, "Proof of the key". The
 * server and the agent compute one X25519 secret, from which HKDF derives the key of an HMAC.
 */
import { PublicKey } from "@gatehouse/contract/network-values";
import { closedObject, oneOf, Uuid } from "@gatehouse/contract/schema";
import Type, { type Static } from "typebox";

/** Separates these proofs from other uses of a WireGuard key, and from later versions. */
export const keyProofDomain = "gatehouse-key-proof/1";
/** The hash function of HKDF and HMAC in proofs. */
export const keyProofHash = "sha256";
/** The bytes of an X25519 key, of a nonce, and of the key that HKDF derives. */
export const keyBytes = 32;
/** The prefix of an X25519 public key in SubjectPublicKeyInfo (RFC 8410), in hexadecimal. */
export const x25519PublicPrefix = "302a300506032b656e032100";

/**
 * Kinds of links, and `app`: a person who adds a device with another WireGuard app, which has no link. A proof for
 * one kind is invalid for the others.
 */
export type ProvingKind = "gateway" | "device" | "app";

/** 32 random bytes in base64. */
export const Nonce = Type.String({ pattern: "^[A-Za-z0-9+/]{43}=$" });
/** HMAC-SHA-256 in base64. */
export const Mac = Type.String({ pattern: "^[A-Za-z0-9+/]{43}=$" });

/** The server's answer to the `hello` of an agent that proves its key. */
export const Challenge = closedObject({
  type: oneOf(["challenge"]),
  tenant: Uuid,
  /** The id of the gateway or device; of the person for the kind `app`. */
  agent: Uuid,
  /** An X25519 public key that is used for this link only. */
  ephemeralKey: PublicKey,
  nonce: Nonce,
});
export type Challenge = Static<typeof Challenge>;

/** The agent's answer to a challenge. */
export const KeyProof = closedObject({
  type: oneOf(["proof"]),
  /** Made with the private key of `publicKey` in `hello`. */
  proof: Mac,
  /** The key that the agent had before, if it still has the private key. */
  previous: Type.Optional(closedObject({ publicKey: PublicKey, proof: Mac })),
});
export type KeyProof = Static<typeof KeyProof>;

/** The role of the key in a proof: the key in `hello`, or the one that it replaces. */
export type ProvenRole = "current" | "previous";

/**
 * Returns the text that a proof authenticates. It names the sender, so that no proof can be sent back. The proof is the
 * HMAC-SHA-256 of the text. The key is HKDF-SHA-256 of the shared secret, with the nonce's bytes as the salt and
 * `keyProofDomain` as the info.
 */
export function keyProofText(
  kind: ProvingKind,
  { tenant, agent, ephemeralKey, nonce }: Omit<Challenge, "type">,
  { publicKey, role }: { readonly publicKey: string; readonly role: ProvenRole },
): string {
  return [keyProofDomain, kind, "agent-to-server", role, tenant, agent, ephemeralKey, nonce, publicKey].join("\n");
}

/** The key that an agent reports in `hello`, and what it has proved about it. */
export interface KeyClaim {
  readonly publicKey: string;
  /** `none`: the agent uses version 1 of the protocol, which has no proofs. */
  readonly proof: "valid" | "invalid" | "none";
  /** A former key of which the agent has proved possession. */
  readonly previousKey: string | undefined;
}

/** The key of an agent as the server has stored it. */
export interface KnownKey {
  /** Undefined before the first link. */
  readonly publicKey: string | undefined;
  /** Whether the agent has proved possession of the key. */
  readonly isProved: boolean;
  /** Until when an administrator allows any key, in milliseconds since 1970; undefined: not at all. */
  readonly resetUntil: number | undefined;
}

/** Why a claimed key is refused. */
export type KeyClaimFault =
  /** The proof is not by the claimed key. */
  | "invalid_proof"
  /** The agent has proved its key before, and does not now. */
  | "missing_proof"
  /** The key differs from the known one, and the agent has not proved possession of the known one. */
  | "replaced"
  /** The key would be allowed, but not with a token that was rotated. */
  | "former_token";

/**
 * The token of a link: the newest one of the agent, or one that was rotated and is in its grace period. The grace
 * period keeps running agents connected. Somebody who stole a former token must not introduce a key with it.
 */
export type LinkToken = "current" | "former";

/**
 * Decides whether an agent may use the key that it reports.
 *
 * @param now milliseconds since 1970
 * @returns undefined if it may
 */
export function keyClaimFault(
  known: KnownKey,
  claim: KeyClaim,
  token: LinkToken,
  now: number,
): KeyClaimFault | undefined {
  if (claim.proof === "invalid") return "invalid_proof";
  if (known.publicKey === undefined || isReset(known, now)) {
    if (token === "current") return undefined;
    if (claim.publicKey !== known.publicKey) return "former_token";
  }
  if (claim.proof === "none" && known.isProved) return "missing_proof";
  if (claim.publicKey === known.publicKey) return undefined;
  return claim.previousKey === known.publicKey ? undefined : "replaced";
}

/** Returns what the server stores after it has accepted a claim. The permission to replace a key is used once. */
export function keyAfterClaim(known: KnownKey, claim: KeyClaim): KnownKey {
  const isProved = claim.proof === "valid";
  const isSame = known.publicKey === claim.publicKey;
  if (isSame && known.isProved === isProved) return known;
  return { publicKey: claim.publicKey, isProved, resetUntil: isSame ? known.resetUntil : undefined };
}

function isReset({ resetUntil }: KnownKey, now: number): boolean {
  return resetUntil !== undefined && now < resetUntil;
}
