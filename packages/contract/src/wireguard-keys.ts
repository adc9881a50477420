/**
 * WireGuard public keys that no agent may have. A key is the u-coordinate of a point on Curve25519: 32 bytes, of which
 * X25519 ignores the highest bit, and which it reduces modulo 2^255-19 (RFC 7748, section 5). One point therefore has
 * several encodings. X25519 outputs only the canonical one, so neither `wg pubkey` nor an agent produces another.
 */

/** Why no gateway or device may have a key. */
export type KeyWeakness = "low_order" | "not_canonical";

/**
 * Points of small order on Curve25519: X25519 with any private key gives zero, so that such a key proves nothing
 * (RFC 7748, section 6.1). The all-zero key is one of them.
 */
const lowOrderKeys: ReadonlySet<string> = new Set([
  "4Ot6fDtBuK4WVuP68Z/EatoJjeucMrH9hmIFFl9JuAA=",
  "7P///////////////////////////////////////38=",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  "X5yVvKNQjCSx0LFVnIPvWwREXMRYHI6G2CJO3dCfEVc=",
]);

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** The position of the base64 digit that contains the highest bit of the 32 bytes. */
const highestDigit = 41;
/** The highest bit of the 32 bytes, in the value of its digit. */
const highestBit = 8;

/** Canonical keys by the 255-bit encodings that are not reduced: 2^255-19 to 2^255-1. */
const reducedKeys: ReadonlyMap<string, string> = new Map(
  Array.from(
    { length: 19 },
    (_, value) =>
      [
        `${firstDigits(0xed + value, 0b1111)}${"/".repeat(39)}38=`,
        `${firstDigits(value, 0)}${"A".repeat(41)}=`,
      ] as const,
  ),
);

/**
 * Returns the encoding that X25519 outputs for the point of a key.
 *
 * @param publicKey 32 bytes in canonical base64
 */
export function canonicalKey(publicKey: string): string {
  const digit = alphabet.indexOf(publicKey.charAt(highestDigit));
  const hasHighestBit = digit !== -1 && (digit & highestBit) !== 0;
  const key = hasHighestBit
    ? `${publicKey.slice(0, highestDigit)}${alphabet.charAt(digit ^ highestBit)}${publicKey.slice(highestDigit + 1)}`
    : publicKey;
  return reducedKeys.get(key) ?? key;
}

/** @param publicKey 32 bytes in canonical base64 @returns whether the point of the key is of small order */
export function isLowOrderKey(publicKey: string): boolean {
  return lowOrderKeys.has(canonicalKey(publicKey));
}

/**
 * Checks a key that a gateway or device is to have. Of the encodings of a point, only the canonical one is usable.
 * Otherwise, two of them could have one point, although their keys differ.
 *
 * @param publicKey 32 bytes in canonical base64
 * @returns undefined if the key is usable
 */
export function keyWeakness(publicKey: string): KeyWeakness | undefined {
  const canonical = canonicalKey(publicKey);
  if (lowOrderKeys.has(canonical)) return "low_order";
  return canonical === publicKey ? undefined : "not_canonical";
}

/** @param rest the four highest bits of the second byte @returns the first two base64 digits */
function firstDigits(firstByte: number, rest: number): string {
  return `${alphabet.charAt(firstByte >> 2)}${alphabet.charAt(((firstByte & 3) << 4) | rest)}`;
}
