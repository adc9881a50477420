/** Challenges that agents answer with a proof of their WireGuard key (docs/decisions/0104). */
import {
  createHmac,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import type { OpenChallenge } from "@gatehouse/agent-protocol/link/greeting";
import {
  type Challenge,
  keyProofDomain,
  keyProofText,
  type ProvenRole,
  type ProvingKind,
} from "@gatehouse/agent-protocol/link/key-proof";
import { isLowOrderKey } from "@gatehouse/contract/wireguard-keys";

/** The prefix of the 32 bytes of an X25519 public key in SubjectPublicKeyInfo (RFC 8410). */
const x25519Prefix = Buffer.from("302a300506032b656e032100", "hex");
const keyBytes = 32;

/** Returns a challenge for one agent on one link. Its private key exists only in this object. */
export function newChallenge(kind: ProvingKind, tenant: string, agent: string): OpenChallenge {
  const { publicKey, privateKey } = generateKeyPairSync("x25519");
  const ephemeralKey = publicKey.export({ format: "der", type: "spki" }).subarray(-keyBytes).toString("base64");
  const nonce = randomBytes(keyBytes).toString("base64");
  const challenge: Challenge = { type: "challenge", tenant, agent, ephemeralKey, nonce };
  /** @param reported the key in `hello` @param prover the key that has to have made the proof */
  const isProvedBy = (proof: string, reported: string, prover: string, role: ProvenRole) => {
    const expected = proofBy(privateKey, prover, keyProofText(kind, challenge, { publicKey: reported, role }), nonce);
    const given = Buffer.from(proof, "base64");
    return expected !== undefined && given.length === expected.length && timingSafeEqual(given, expected);
  };
  return {
    challenge,
    claimOf: (publicKey, { proof, previous }) => {
      const hasPrevious =
        previous !== undefined && isProvedBy(previous.proof, publicKey, previous.publicKey, "previous");
      return {
        publicKey,
        proof: isProvedBy(proof, publicKey, publicKey, "current") ? "valid" : "invalid",
        previousKey: hasPrevious ? previous.publicKey : undefined,
      };
    },
  };
}

/** @returns undefined if nobody can prove the key: the secret that a key of small order shares is known to all */
function proofBy(privateKey: KeyObject, publicKey: string, text: string, nonce: string): Buffer | undefined {
  if (isLowOrderKey(publicKey)) return undefined;
  const der = Buffer.concat([x25519Prefix, Buffer.from(publicKey, "base64")]);
  let shared: Buffer;
  try {
    shared = diffieHellman({ privateKey, publicKey: createPublicKey({ key: der, format: "der", type: "spki" }) });
  } catch {
    return undefined;
  }
  const key = hkdfSync("sha256", shared, Buffer.from(nonce, "base64"), keyProofDomain, keyBytes);
  return createHmac("sha256", Buffer.from(key)).update(text).digest();
}
