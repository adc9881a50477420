/** IP addresses and blocks as numbers, for putting prefixes into an order and apart. */
import { isIP } from "node:net";

export type Family = 4 | 6;

export interface IpBlock {
  readonly family: Family;
  readonly first: bigint;
  readonly last: bigint;
  readonly prefixLength: number;
}

/** @returns undefined when the text is no address in the strict forms, without a zone */
export function familyOf(text: string): Family | undefined {
  const family = isIP(text);
  return (family === 4 || family === 6) && !text.includes("%") ? family : undefined;
}

/**
 * Reads `address/length`, or an address alone.
 *
 * @returns undefined where it is none, or where bits are set after the prefix
 */
export function parseIpBlock(text: string): IpBlock | undefined {
  const [address = "", length, more] = text.split("/");
  const family = familyOf(address);
  if (family === undefined || more !== undefined) return undefined;
  const width = family === 4 ? 32 : 128;
  if (length !== undefined && !/^(?:0|[1-9][0-9]{0,2})$/.test(length)) return undefined;
  const prefixLength = length === undefined ? width : Number(length);
  if (prefixLength > width) return undefined;
  const first = bitsOf(address, family);
  const hostBits = (1n << BigInt(width - prefixLength)) - 1n;
  return (first & hostBits) === 0n ? { family, first, last: first | hostBits, prefixLength } : undefined;
}

/** Writes an address; IPv6 without shortening, which every program reads. */
export function formatAddress(family: Family, bits: bigint): string {
  const [size, digits, separator, radix] = family === 4 ? [4, 8n, ".", 10] : ([8, 16n, ":", 16] as const);
  const mask = (1n << digits) - 1n;
  return Array.from({ length: size }, (_, index) =>
    ((bits >> (BigInt(size - 1 - index) * digits)) & mask).toString(radix),
  ).join(separator);
}

/** Whether the address, in any of its forms, is in one of the blocks. */
export function isWithin(address: string, blocks: readonly IpBlock[]): boolean {
  const single = parseIpBlock(address);
  return (
    single !== undefined &&
    blocks.some(({ family, first, last }) => family === single.family && first <= single.first && single.first <= last)
  );
}

function bitsOf(address: string, family: Family): bigint {
  if (family === 4) return address.split(".").reduce((bits, part) => (bits << 8n) | BigInt(part), 0n);
  const [head = "", tail] = withoutDots(address).split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => "0");
  return [...left, ...zeros, ...right].reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n);
}

/** `::ffff:192.0.2.1` with its last two groups in hexadecimal. */
function withoutDots(address: string): string {
  const start = address.lastIndexOf(":") + 1;
  const dotted = address.slice(start);
  if (!dotted.includes(".")) return address;
  const bits = bitsOf(dotted, 4);
  return `${address.slice(0, start)}${(bits >> 16n).toString(16)}:${(bits & 0xffffn).toString(16)}`;
}
