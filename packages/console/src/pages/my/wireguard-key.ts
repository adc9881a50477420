/**
 * WireGuard key pairs of devices with any WireGuard app. The private key stays in the browser and in the file that the
 * person saves; the server gets the public key and a proof (docs/decisions/0151).
 */

/** Raw keys. Both have 32 bytes. */
interface RawKeys {
  readonly privateKey: Bytes;
  readonly publicKey: Bytes;
}

type Bytes = Uint8Array<ArrayBuffer>;

/** Both in base64. */
export interface WireGuardKeys {
  readonly privateKey: string;
  readonly publicKey: string;
}

export interface KeyChallenge {
  readonly tenant: string;
  readonly user: string;
  readonly ephemeralKey: string;
  readonly nonce: string;
}

/** Separates the proof from other uses of the key. */
const domain = "gatehouse-key-proof/1";
const keyBytes = 32;
/** The prefix of the 32 bytes of an X25519 private key in PKCS #8 (RFC 8410). */
const privatePrefix = fromHex("302e020100300506032b656e04220420");
/** The base point of Curve25519: X25519 of a private key and this point is the public key (RFC 7748). */
const basePoint = Uint8Array.of(9, ...new Uint8Array(keyBytes - 1));

/** Whether the page can make keys. Browsers offer no cryptography to pages that were loaded over plain HTTP. */
export function canMakeKeys(): boolean {
  return globalThis.crypto?.subtle !== undefined;
}

export async function createWireGuardKeys(): Promise<WireGuardKeys> {
  const { privateKey, publicKey } = await newKeys();
  return { privateKey: toBase64(privateKey), publicKey: toBase64(publicKey) };
}

/** @returns undefined for a text that is not a key */
export async function publicKeyOf(privateKey: string): Promise<string | undefined> {
  const raw = keyFrom(privateKey);
  return raw === undefined ? undefined : toBase64(await sharedSecret(raw, basePoint));
}

/** Answers the challenge: proves possession of the private key. @returns base64 */
export async function proveKey({ privateKey, publicKey }: WireGuardKeys, challenge: KeyChallenge): Promise<string> {
  const { tenant, user, ephemeralKey, nonce } = challenge;
  const [own, other] = [keyFrom(privateKey), keyFrom(ephemeralKey)];
  if (own === undefined || other === undefined) throw new Error("The challenge is not valid.");
  const secret = await sharedSecret(own, other);
  if (secret.every((byte) => byte === 0)) throw new Error("The challenge contains a key of small order.");
  const text = [domain, "app", "agent-to-server", "current", tenant, user, ephemeralKey, nonce, publicKey].join("\n");
  const { subtle } = globalThis.crypto;
  const material = await subtle.importKey("raw", secret, "HKDF", false, ["deriveKey"]);
  const derivation = { name: "HKDF", hash: "SHA-256", salt: fromBase64(nonce), info: new TextEncoder().encode(domain) };
  const hmac = { name: "HMAC", hash: "SHA-256", length: keyBytes * 8 };
  const key = await subtle.deriveKey(derivation, material, hmac, false, ["sign"]);
  return toBase64(new Uint8Array(await subtle.sign("HMAC", key, new TextEncoder().encode(text))));
}

async function newKeys(): Promise<RawKeys> {
  const { subtle } = globalThis.crypto;
  try {
    const pair = await subtle.generateKey({ name: "X25519" }, true, ["deriveBits"]);
    if (!("privateKey" in pair)) throw new Error("the browser made no pair");
    const pkcs8 = new Uint8Array(await subtle.exportKey("pkcs8", pair.privateKey));
    const publicKey = new Uint8Array(await subtle.exportKey("raw", pair.publicKey));
    return { privateKey: pkcs8.slice(-keyBytes), publicKey };
  } catch {
    // Browsers before 2025.
    const { x25519 } = await import("@noble/curves/ed25519.js");
    const privateKey = x25519.utils.randomSecretKey();
    return { privateKey: new Uint8Array(privateKey), publicKey: new Uint8Array(x25519.getPublicKey(privateKey)) };
  }
}

async function sharedSecret(privateKey: Bytes, publicKey: Bytes): Promise<Bytes> {
  const { subtle } = globalThis.crypto;
  try {
    const pkcs8 = Uint8Array.of(...privatePrefix, ...privateKey);
    const own = await subtle.importKey("pkcs8", pkcs8, { name: "X25519" }, false, ["deriveBits"]);
    const other = await subtle.importKey("raw", publicKey, { name: "X25519" }, false, []);
    return new Uint8Array(await subtle.deriveBits({ name: "X25519", public: other }, own, keyBytes * 8));
  } catch {
    const { x25519 } = await import("@noble/curves/ed25519.js");
    return new Uint8Array(x25519.getSharedSecret(privateKey, publicKey));
  }
}

function keyFrom(text: string): Bytes | undefined {
  if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) return undefined;
  return fromBase64(text);
}

function toBase64(bytes: Bytes): string {
  return btoa(String.fromCharCode(...bytes));
}

function fromBase64(text: string): Bytes {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

function fromHex(text: string): Bytes {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
