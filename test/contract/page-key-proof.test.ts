/** The keys and proofs of the page `/my/`, as the server expects them. */
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
} from "node:crypto";
import { keyProofDomain, keyProofText } from "@gatehouse/agent-protocol/link/key-proof";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createWireGuardKeys, proveKey, publicKeyOf } from "../../packages/console/src/pages/my/wireguard-key.ts";

/** The prefixes of X25519 keys in DER (RFC 8410). */
const privatePrefix = Buffer.from("302e020100300506032b656e04220420", "hex");
const publicPrefix = Buffer.from("302a300506032b656e032100", "hex");
const zero = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

function publicKeyByNode(privateKey: string): string {
  const der = Buffer.concat([privatePrefix, Buffer.from(privateKey, "base64")]);
  const key = createPublicKey(createPrivateKey({ key: der, format: "der", type: "pkcs8" }));
  return key.export({ format: "der", type: "spki" }).subarray(-32).toString("base64");
}

function withoutX25519(): void {
  const refused = () => Promise.reject(new DOMException("Unrecognized algorithm", "NotSupportedError"));
  const { subtle } = globalThis.crypto;
  const importKey = subtle.importKey.bind(subtle) as (...args: unknown[]) => Promise<unknown>;
  vi.spyOn(subtle, "generateKey").mockImplementation(refused);
  // The method has overloads, and a function expression has one signature.
  vi.spyOn(subtle, "importKey").mockImplementation(((...args: unknown[]) =>
    args[2] === "HKDF" ? importKey(...args) : refused()) as unknown as typeof subtle.importKey);
}

describe.each([
  ["a browser with X25519", () => {}],
  ["a browser without X25519", withoutX25519],
])("%s", (_, prepare) => {
  beforeEach(prepare);
  afterEach(() => vi.restoreAllMocks());

  test("makes key pairs that fit together, each a different one", async () => {
    const [one, other] = [await createWireGuardKeys(), await createWireGuardKeys()];
    expect(one.publicKey).toBe(publicKeyByNode(one.privateKey));
    expect(await publicKeyOf(one.privateKey)).toBe(one.publicKey);
    expect(other.privateKey).not.toBe(one.privateKey);
  });

  test("proves a key as the protocol says", async () => {
    const server = generateKeyPairSync("x25519");
    const ephemeralKey = server.publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64");
    const challenge = { tenant: "tenant", user: "user", ephemeralKey, nonce: Buffer.alloc(32, 7).toString("base64") };
    const keys = await createWireGuardKeys();
    const { publicKey } = keys;
    const der = Buffer.concat([publicPrefix, Buffer.from(publicKey, "base64")]);
    const shared = diffieHellman({
      privateKey: server.privateKey,
      publicKey: createPublicKey({ key: der, format: "der", type: "spki" }),
    });
    const key = Buffer.from(hkdfSync("sha256", shared, Buffer.alloc(32, 7), keyProofDomain, 32));
    const text = keyProofText("app", { ...challenge, agent: challenge.user }, { publicKey, role: "current" });
    expect(await proveKey(keys, challenge)).toBe(createHmac("sha256", key).update(text).digest("base64"));
  });

  test("answers no challenge with a key of small order", async () => {
    const challenge = { tenant: "tenant", user: "user", ephemeralKey: zero, nonce: zero };
    await expect(proveKey(await createWireGuardKeys(), challenge)).rejects.toThrow();
  });

  test("finds no public key for a text that is not a key", async () => {
    expect(await publicKeyOf("not a key")).toBeUndefined();
  });
});
