/** Challenges that agents answer with a proof of their WireGuard key (docs/decisions/0104). */
import {
  createHmac,
  createPrivateKey,
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
  keyBytes,
  keyProofDomain,
  keyProofHash,
  keyProofText,
  type ProvenRole,
  type ProvingKind,
  x25519PublicPrefix,
} from "@gatehouse/agent-protocol/link/key-proof";
import { isLowOrderKey } from "@gatehouse/contract/wireguard-keys";

const publicPrefix = Buffer.from(x25519PublicPrefix, "hex");

/** Returns a challenge for one agent on one link. Its private key exists only in this object. */
export function newChallenge(kind: ProvingKind, tenant: string, agent: string): OpenChallenge {
  const { challenge, privateKey } = challengeFor(tenant, agent);
  /** @param reported the key in `hello` @param prover the key that has to have made the proof */
  const isProvedBy = (proof: string, reported: string, prover: string, role: ProvenRole) =>
    isExpected(proof, privateKey, prover, keyProofText(kind, challenge, { publicKey: reported, role }), challenge);
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

/** A challenge that outlives the request in which it was made. */
export interface StoredChallenge {
  readonly challenge: Challenge;
  /** PKCS #8 in base64. A secret. */
  readonly privateKey: string;
}

/** Returns a challenge for a person who registers a key without a link. */
export function newStoredChallenge(tenant: string, userId: string): StoredChallenge {
  const { challenge, privateKey } = challengeFor(tenant, userId);
  return { challenge, privateKey: privateKey.export({ format: "der", type: "pkcs8" }).toString("base64") };
}

/** Whether the proof answers the challenge, and was made with the private key of `publicKey`. */
export function answersChallenge(stored: StoredChallenge, publicKey: string, proof: string): boolean {
  const { challenge } = stored;
  const key = createPrivateKey({ key: Buffer.from(stored.privateKey, "base64"), format: "der", type: "pkcs8" });
  const text = keyProofText("app", challenge, { publicKey, role: "current" });
  return isExpected(proof, key, publicKey, text, challenge);
}

function challengeFor(
  tenant: string,
  agent: string,
): { readonly challenge: Challenge; readonly privateKey: KeyObject } {
  const { publicKey, privateKey } = generateKeyPairSync("x25519");
  const ephemeralKey = publicKey.export({ format: "der", type: "spki" }).subarray(-keyBytes).toString("base64");
  const nonce = randomBytes(keyBytes).toString("base64");
  return { challenge: { type: "challenge", tenant, agent, ephemeralKey, nonce }, privateKey };
}

function isExpected(
  proof: string,
  privateKey: KeyObject,
  prover: string,
  text: string,
  { nonce }: Pick<Challenge, "nonce">,
): boolean {
  const expected = proofBy(privateKey, prover, text, nonce);
  const given = Buffer.from(proof, "base64");
  return expected !== undefined && given.length === expected.length && timingSafeEqual(given, expected);
}

/** @returns undefined if nobody can prove the key: the secret that a key of small order shares is known to all */
function proofBy(privateKey: KeyObject, publicKey: string, text: string, nonce: string): Buffer | undefined {
  if (isLowOrderKey(publicKey)) return undefined;
  const der = Buffer.concat([publicPrefix, Buffer.from(publicKey, "base64")]);
  let shared: Buffer;
  try {
    shared = diffieHellman({ privateKey, publicKey: createPublicKey({ key: der, format: "der", type: "spki" }) });
  } catch {
    return undefined;
  }
  const key = hkdfSync(keyProofHash, shared, Buffer.from(nonce, "base64"), keyProofDomain, keyBytes);
  return createHmac(keyProofHash, Buffer.from(key)).update(text).digest();
}
