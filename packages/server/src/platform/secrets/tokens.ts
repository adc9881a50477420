import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/**
 * The kinds of tokens with their prefixes. The prefixes are fixed and distinctive, so that secret scanners can find
 * leaked tokens: `gatehouse_(key|gw|device|op|session|enrol|enrolkey|access|refresh|code)_[0-9A-Za-z]{49}`.
 */
export const tokenPrefixes = {
  apiKey: "gatehouse_key_",
  gateway: "gatehouse_gw_",
  device: "gatehouse_device_",
  operator: "gatehouse_op_",
  session: "gatehouse_session_",
  enrolmentLink: "gatehouse_enrol_",
  enrolmentKey: "gatehouse_enrolkey_",
  access: "gatehouse_access_",
  refresh: "gatehouse_refresh_",
  code: "gatehouse_code_",
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

/**
 * Generates a token: prefix, 256 random bits in base 62, and a CRC-32 of both, which distinguishes a typing error from
 * an unknown token.
 */
export function generateToken(prefix: string): string {
  const secret = base62(BigInt(`0x${randomBytes(secretBytes).toString("hex")}`), secretCharacters);
  return prefix + secret + checksum(prefix + secret);
}

/** Whether a text with a token prefix is complete. A complete token is not necessarily valid. */
export function isWholeToken(text: string, prefix: string): boolean {
  if (text.length !== prefix.length + secretCharacters + checksumCharacters) return false;
  return checksum(text.slice(0, -checksumCharacters)) === text.slice(-checksumCharacters);
}

/** The SHA-256 of a token. A fast hash is enough, because 256 random bits rule out dictionary attacks. */
export function hashToken(text: string): Buffer {
  return hash("sha256", text, "buffer");
}

/** The first characters of a token, which can be shown to identify it. */
export function visiblePrefix(token: string): string {
  const prefix = Object.values(tokenPrefixes).find((known) => token.startsWith(known));
  return prefix === undefined ? `${token.slice(0, 4)}…` : `${token.slice(0, prefix.length + 4)}…`;
}
