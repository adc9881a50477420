import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from "node:crypto";
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

/** The most keys in the file of former keys. */
const mostFormerKeys = 8;

/** The WireGuard keys of an agent. The private keys never leave this machine. */
export interface AgentKeys {
  /** Base64. */
  readonly publicKey: string;
  /** The keys that the control plane may know instead of the current one, the most likely one first. */
  readonly formerKeys: readonly string[];
  /**
   * Proves possession of the key, and of a former key if there is one.
   *
   * @throws Error if the challenge cannot be answered safely
   */
  readonly prove: (kind: ProvingKind, challenge: Challenge) => KeyProof;
  /** The control plane has admitted the agent with this key. */
  readonly accepted: () => Promise<void>;
  /** The control plane has refused the key. The next proof uses the next former key, if there are several. */
  readonly refused: () => void;
}

/** Reads the keys of an agent. Creates a key pair if there is none. */
export async function readAgentKeys(privateKeyFile: string): Promise<AgentKeys> {
  const current = await readOrCreate(privateKeyFile);
  const publicKey = publicTextOf(current);
  const listed = await readKnownKeys(privateKeyFile);
  const former = listed.filter((key) => publicTextOf(key) !== publicKey);
  let isFirst = listed[0] === undefined || publicTextOf(listed[0]) === publicKey;
  return agentKeys(current, former, async (proved) => {
    if (isFirst) return;
    // The control plane stores the key after it has admitted the agent, and may still refuse to. No key is deleted yet.
    const others = former.filter((key) => key !== proved);
    await storeKnownKeys(privateKeyFile, limited([current, ...(proved === undefined ? [] : [proved]), ...others]));
    isFirst = true;
  });
}

/**
 * @param former the keys that the control plane may know instead of the current one, the most likely one first
 * @param store records that the control plane knows the current key, and the former key that was proved
 */
export function agentKeys(
  current: KeyObject,
  former: readonly KeyObject[] = [],
  store: (proved: KeyObject | undefined) => Promise<void> = () => Promise.resolve(),
): AgentKeys {
  const publicKey = publicTextOf(current);
  let refusals = 0;
  const provedFormer = () => former[refusals % Math.max(1, former.length)];
  return {
    publicKey,
    formerKeys: former.map(publicTextOf),
    prove: (kind, challenge) => {
      const proofBy = (key: KeyObject, role: ProvenRole) =>
        macText(key, challenge, keyProofText(kind, challenge, { publicKey, role }));
      const proof = proofBy(current, "current");
      const previous = provedFormer();
      if (previous === undefined) return { type: "proof", proof };
      return {
        type: "proof",
        proof,
        previous: { publicKey: publicTextOf(previous), proof: proofBy(previous, "previous") },
      };
    },
    accepted: () => store(provedFormer()),
    refused: () => {
      refusals += 1;
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
 * Replaces the private key in a file. The replaced key stays in a second file, because the agent has to prove the key
 * that the control plane knows. That key remains the first one until the control plane has admitted the agent with
 * another one. The agent must not be running. If the process is killed, the agent has its previous key or the new one.
 *
 * @returns the new public key, base64
 */
export async function replaceKey(privateKeyFile: string): Promise<string> {
  const current = await readOrCreate(privateKeyFile);
  const publicKey = publicTextOf(current);
  const listed = await readKnownKeys(privateKeyFile);
  if (!listed.some((key) => publicTextOf(key) === publicKey)) {
    await storeKnownKeys(privateKeyFile, limited([...listed, current]));
  }
  return publicTextOf(await createKey(privateKeyFile));
}

/** Reads the keys that the control plane may know, the most likely one first. */
async function readKnownKeys(privateKeyFile: string): Promise<readonly KeyObject[]> {
  const file = formerKeyFile(privateKeyFile);
  const text = await readIfExists(file);
  return text === undefined
    ? []
    : text
        .trim()
        .split("\n")
        .map((line) => privateKeyFrom(line, file));
}

/** Removes keys beyond the limit. The two most likely keys and the newest ones remain. */
function limited(keys: readonly KeyObject[]): readonly KeyObject[] {
  return keys.length <= mostFormerKeys ? keys : [...keys.slice(0, 2), ...keys.slice(2 - mostFormerKeys)];
}

function storeKnownKeys(privateKeyFile: string, keys: readonly KeyObject[]): Promise<void> {
  return writePrivateFile(formerKeyFile(privateKeyFile), keys.map((key) => `${privateTextOf(key)}\n`).join(""));
}

function formerKeyFile(privateKeyFile: string): string {
  return `${privateKeyFile}.former`;
}

async function readOrCreate(privateKeyFile: string): Promise<KeyObject> {
  const text = await readIfExists(privateKeyFile);
  return text === undefined ? createKey(privateKeyFile) : privateKeyFrom(text, privateKeyFile);
}

async function createKey(privateKeyFile: string): Promise<KeyObject> {
  const { privateKey } = generateKeyPairSync("x25519");
  await writePrivateFile(privateKeyFile, `${privateTextOf(privateKey)}\n`);
  return privateKey;
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

function privateTextOf(privateKey: KeyObject): string {
  return privateKey.export({ format: "der", type: "pkcs8" }).subarray(-keyBytes).toString("base64");
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
