import { randomBytes } from "node:crypto";

/** A random key of 48 bits for each position, as two halves, so that sums of products are exact. */
const keys: { readonly low: number; readonly high: number }[] = [];
const half = 2 ** 24;

/**
 * A hash of 32 bits that tenants cannot predict. For two different texts, all pairs of hashes are equally likely
 * (strongly universal multilinear hashing; Lemire and Kaser, "Strongly universal string hashing is fast", 2014). Hashes
 * differ between processes.
 */
export function textHash(text: string): number {
  while (keys.length <= text.length) addKeys();
  let low = keys[0]?.low ?? 0;
  let high = keys[0]?.high ?? 0;
  for (let at = 0; at < text.length; at += 1) {
    const key = keys[at + 1];
    if (key === undefined) break;
    // One more than the code unit, so that a text differs from its prefixes.
    const value = text.charCodeAt(at) + 1;
    low += key.low * value;
    high += key.high * value;
  }
  // The upper 32 of 48 bits.
  const upper = (high + Math.floor(low / half)) % half;
  return upper * 256 + Math.floor((low % half) / 65_536);
}

function addKeys(): void {
  const bytes = randomBytes(6 * 64);
  for (let at = 0; at < bytes.length; at += 6)
    keys.push({ low: bytes.readUIntLE(at, 3), high: bytes.readUIntLE(at + 3, 3) });
}
