import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from "node:crypto";
import { rename } from "node:fs/promises";
import {
  type Challenge,
  type KeyProof,
  keyBytes,
  keyProofDomain,
  keyProofHash,
  keyProofText,
  type ProvenRole,
  type ProvingKind,
  x25519PublicPrefix,
} from "@gatehouse/agent-protocol/link/key-proof";
import { readIfExists, writePrivateFile } from "../state/private-file.ts";

/** The prefix of an X25519 private key in PKCS #8 (RFC 8410). */
const x25519Prefix = Buffer.from("302e020100300506032b656e04220420", "hex");
const publicPrefix = Buffer.from(x25519PublicPrefix, "hex");

/** The WireGuard keys of an agent. The private keys never leave this machine. */
export interface AgentKeys {
  /** Base64. */
  readonly publicKey: string;
  /** The key that the current one replaced, if the agent still has it. */
  readonly formerKey: string | undefined;
  /**
   * Proves possession of the key, and of the former key if there is one.
   *
   * @throws Error if the challenge cannot be answered safely
   */
  readonly prove: (kind: ProvingKind, challenge: Challenge) => KeyProof;
}

/** Reads the keys of an agent. Creates a key pair if there is none. */
export async function readAgentKeys(privateKeyFile: string): Promise<AgentKeys> {
  const current = await readOrCreate(privateKeyFile);
  const formerFile = formerKeyFile(privateKeyFile);
  const text = await readIfExists(formerFile);
  const formerKey = text === undefined ? undefined : privateKeyFrom(text, formerFile);
  return agentKeys(current, formerKey);
}

/** @param former the key that the current one replaced */
export function agentKeys(current: KeyObject, former?: KeyObject): AgentKeys {
  const publicKey = publicTextOf(current);
  return {
    publicKey,
    formerKey: former === undefined ? undefined : publicTextOf(former),
    prove: (kind, challenge) => {
      const proofBy = (key: KeyObject, role: ProvenRole) =>
        macText(key, challenge, keyProofText(kind, challenge, { publicKey, role }));
      const proof = proofBy(current, "current");
      if (former === undefined) return { type: "proof", proof };
      const previous = { publicKey: publicTextOf(former), proof: proofBy(former, "previous") };
      return { type: "proof", proof, previous };
    },
  };
}

/**
 * Returns the public key of the private key in a file. Creates the file if it does not exist.
 *
 * @returns base64
 */
export async function publicKeyOf(privateKeyFile: string): Promise<string> {
  return publicTextOf(await readOrCreate(privateKeyFile));
}

/** Returns the public key of the private key in a file; undefined if the file does not exist. @returns base64 */
export async function publicKeyIn(privateKeyFile: string): Promise<string | undefined> {
  const text = await readIfExists(privateKeyFile);
  return text === undefined ? undefined : publicTextOf(privateKeyFrom(text, privateKeyFile));
}

/**
 * Replaces the private key in a file. The former key is kept beside it, because the agent has to prove that it had it.
 * The agent must not be running.
 *
 * @returns the new public key, base64
 */
export async function replaceKey(privateKeyFile: string): Promise<string> {
  // An unreadable key must not replace a readable former one.
  await readOrCreate(privateKeyFile);
  await rename(privateKeyFile, formerKeyFile(privateKeyFile));
  return publicKeyOf(privateKeyFile);
}

function formerKeyFile(privateKeyFile: string): string {
  return `${privateKeyFile}.former`;
}

async function readOrCreate(privateKeyFile: string): Promise<KeyObject> {
  let text = await readIfExists(privateKeyFile);
  if (text === undefined) {
    const { privateKey } = generateKeyPairSync("x25519");
    text = privateKey.export({ format: "der", type: "pkcs8" }).subarray(-keyBytes).toString("base64");
    await writePrivateFile(privateKeyFile, `${text}\n`);
  }
  return privateKeyFrom(text, privateKeyFile);
}

function privateKeyFrom(text: string, file: string): KeyObject {
  const bytes = Buffer.from(text.trim(), "base64");
  if (bytes.length !== keyBytes) {
    throw new Error(
      `${file} does not contain a WireGuard private key. Restore the file, or empty the folder to set up the machine with a new key.`,
    );
  }
  return createPrivateKey({ key: Buffer.concat([x25519Prefix, bytes]), format: "der", type: "pkcs8" });
}

function publicTextOf(privateKey: KeyObject): string {
  return createPublicKey(privateKey).export({ format: "der", type: "spki" }).subarray(-keyBytes).toString("base64");
}

/** @throws Error if the ephemeral key is of small order: the shared secret would be known to all */
function macText(privateKey: KeyObject, { ephemeralKey, nonce }: Challenge, text: string): string {
  const der = Buffer.concat([publicPrefix, Buffer.from(ephemeralKey, "base64")]);
  const publicKey = createPublicKey({ key: der, format: "der", type: "spki" });
  const shared = diffieHellman({ privateKey, publicKey });
  if (shared.every((byte) => byte === 0)) throw new Error("The challenge has a key of small order.");
  const key = hkdfSync(keyProofHash, shared, Buffer.from(nonce, "base64"), keyProofDomain, keyBytes);
  return createHmac(keyProofHash, Buffer.from(key)).update(text).digest("base64");
}
