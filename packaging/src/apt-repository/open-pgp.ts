/**
 * OpenPGP keys and signatures (RFC 4880, and EdDSA of RFC 9580) for apt, made with the Ed25519 release key. The same
 * key and time give the same bytes.
 */
import { createHash, createPublicKey, type KeyObject, sign } from "node:crypto";

const tags = { signature: 2, publicKey: 6, userId: 13 } as const;
const signatureTypes = { text: 0x01, certification: 0x13 } as const;
/** Subpackets that matter to verifiers. */
const subpackets = { created: 2, issuer: 16, keyFlags: 27, issuerFingerprint: 33 } as const;
const algorithms = { edDsa: 22, sha512: 10 } as const;
const ed25519Curve = Buffer.from("2b06010401da470f01", "hex");
/** Certify and sign. */
const keyFlags = 0x03;
/**
 * Creation time of every key. It is part of the fingerprint, and PEM files have none. No signature is older.
 * 2020-01-01T00:00:00Z.
 */
const keyTime = 1_577_836_800;

export interface OpenPgpKey {
  readonly privateKey: KeyObject;
  /** Body of the public key's packet. */
  readonly body: Buffer;
  readonly fingerprint: Buffer;
}

/** @param privateKey an Ed25519 key */
export function openPgpKey(privateKey: KeyObject): OpenPgpKey {
  const { x } = createPublicKey(privateKey).export({ format: "jwk" });
  if (x === undefined) throw new Error("The key is not an Ed25519 key.");
  const point = Buffer.concat([Buffer.of(0x40), Buffer.from(x, "base64url")]);
  const curve = Buffer.concat([Buffer.of(ed25519Curve.length), ed25519Curve]);
  const body = Buffer.concat([Buffer.of(4), uint32(keyTime), Buffer.of(algorithms.edDsa), curve, integer(point)]);
  return { privateKey, body, fingerprint: createHash("sha1").update(keyPrefix(body)).update(body).digest() };
}

/** @returns the armoured public key with its self-signature, as apt reads it from a file of `Signed-By` */
export function armouredPublicKey(key: OpenPgpKey, userId: string): string {
  const name = Buffer.from(userId);
  const signed = Buffer.concat([keyPrefix(key.body), key.body, Buffer.of(0xb4), uint32(name.length), name]);
  const flags = subpacket(subpackets.keyFlags, Buffer.of(keyFlags));
  const certification = signature(key, { type: signatureTypes.certification, time: keyTime, signed, extra: flags });
  const packets = [packet(tags.publicKey, key.body), packet(tags.userId, name), packet(tags.signature, certification)];
  return armour("PUBLIC KEY BLOCK", Buffer.concat(packets));
}

/**
 * Signs a text in the form of `InRelease`.
 *
 * @param text lines without trailing spaces and without a leading -; ends with a line feed
 * @param time of the signature, in seconds since 1970
 */
export function clearSigned(key: OpenPgpKey, text: string, time: number): string {
  if (!text.endsWith("\n") || /^-|[ \t\r]$/m.test(text)) throw new Error("The text has lines that need an escape.");
  const signed = Buffer.from(text.slice(0, -1).replaceAll("\n", "\r\n"));
  const body = signature(key, { type: signatureTypes.text, time: Math.max(time, keyTime), signed });
  const block = armour("SIGNATURE", packet(tags.signature, body));
  return `-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n${text}${block}`;
}

interface Signed {
  readonly type: number;
  readonly time: number;
  readonly signed: Buffer;
  /** Further subpackets that the signature protects. */
  readonly extra?: Buffer;
}

/** Body of a version 4 signature. */
function signature(key: OpenPgpKey, { type, time, signed, extra = Buffer.alloc(0) }: Signed): Buffer {
  const hashed = Buffer.concat([
    subpacket(subpackets.created, uint32(time)),
    subpacket(subpackets.issuerFingerprint, Buffer.concat([Buffer.of(4), key.fingerprint])),
    extra,
  ]);
  const unhashed = subpacket(subpackets.issuer, key.fingerprint.subarray(-8));
  const head = Buffer.concat([Buffer.of(4, type, algorithms.edDsa, algorithms.sha512), uint16(hashed.length), hashed]);
  const trailer = Buffer.concat([Buffer.of(4, 0xff), uint32(head.length)]);
  const digest = createHash("sha512").update(signed).update(head).update(trailer).digest();
  const value = sign(null, digest, key.privateKey);
  const parts = [head, uint16(unhashed.length), unhashed, digest.subarray(0, 2)];
  return Buffer.concat([...parts, integer(value.subarray(0, 32)), integer(value.subarray(32))]);
}

function keyPrefix(body: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0x99), uint16(body.length)]);
}

function packet(tag: number, body: Buffer): Buffer {
  if (body.length >= 192) throw new Error("The packet is too long for a length of one octet.");
  return Buffer.concat([Buffer.of(0xc0 | tag, body.length), body]);
}

function subpacket(type: number, body: Buffer): Buffer {
  return Buffer.concat([Buffer.of(body.length + 1, type), body]);
}

/** A multiprecision integer: its length in bits, then its octets without leading zeros. */
function integer(octets: Buffer): Buffer {
  const start = octets.findIndex((octet) => octet !== 0);
  const value = start < 0 ? Buffer.alloc(0) : octets.subarray(start);
  const bits = value.length === 0 ? 0 : (value.length - 1) * 8 + (32 - Math.clz32(value[0] ?? 0));
  return Buffer.concat([uint16(bits), value]);
}

function uint16(value: number): Buffer {
  const octets = Buffer.alloc(2);
  octets.writeUInt16BE(value);
  return octets;
}

function uint32(value: number): Buffer {
  const octets = Buffer.alloc(4);
  octets.writeUInt32BE(value);
  return octets;
}

function armour(kind: string, content: Buffer): string {
  const lines = content.toString("base64").match(/.{1,64}/g) ?? [];
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc24(content));
  const check = `=${sum.subarray(1).toString("base64")}`;
  return [`-----BEGIN PGP ${kind}-----`, "", ...lines, check, `-----END PGP ${kind}-----`, ""].join("\n");
}

function crc24(content: Buffer): number {
  let sum = 0xb704ce;
  for (const octet of content) {
    sum ^= octet << 16;
    for (let bit = 0; bit < 8; bit += 1) {
      sum <<= 1;
      if ((sum & 0x1000000) !== 0) sum ^= 0x1864cfb;
    }
  }
  return sum & 0xffffff;
}
