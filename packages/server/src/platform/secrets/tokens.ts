import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/**
 * The kinds of token, by what they start with. The prefixes are fixed and unusual, so that secret scanners can find leaked
 * tokens: `gatehouse_(key|gw|device|op|session)_[0-9A-Za-z]{49}`.
 */
export const tokenPrefixes = {
  apiKey: "gatehouse_key_",
  gateway: "gatehouse_gw_",
  device: "gatehouse_device_",
  operator: "gatehouse_op_",
  session: "gatehouse_session_",
} as const;

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const secretBytes = 32;
/** 62^43 > 2^256. */
const secretCharacters = 43;
/** 62^6 > 2^32. */
const checksumCharacters = 6;

function base62(value: bigint, characters: number): string {
  let text = "";
  for (let rest = value; text.length < characters; rest /= 62n) text = alphabet[Number(rest % 62n)] + text;
  return text;
}

function checksum(text: string): string {
  return base62(BigInt(crc32(text)), checksumCharacters);
}

/** Makes a token: prefix, 256 random bits in base 62, and a CRC-32 of both, which tells a typing error from a wrong key. */
export function generateToken(prefix: string): string {
  const secret = base62(BigInt(`0x${randomBytes(secretBytes).toString("hex")}`), secretCharacters);
  return prefix + secret + checksum(prefix + secret);
}

/** Whether a text that starts like one of our tokens is whole. Says nothing of whether it is valid. */
export function isWholeToken(text: string, prefix: string): boolean {
  if (text.length !== prefix.length + secretCharacters + checksumCharacters) return false;
  return checksum(text.slice(0, -checksumCharacters)) === text.slice(-checksumCharacters);
}

/** The SHA-256 of a token. Tokens have 256 random bits, so a fast hash is enough (no dictionary can hold them). */
export function hashToken(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** The characters of a token that may be shown, to recognise it by. */
export function visiblePrefix(token: string): string {
  const prefix = Object.values(tokenPrefixes).find((known) => token.startsWith(known));
  return prefix === undefined ? `${token.slice(0, 4)}…` : `${token.slice(0, prefix.length + 4)}…`;
}
