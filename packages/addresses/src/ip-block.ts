/** IP addresses and blocks as numbers, for putting prefixes into an order and apart. */
import { parseIpAddress, parseIpv6 } from "./ip-address.ts";

export type Family = 4 | 6;

export interface IpBlock {
  readonly family: Family;
  readonly first: bigint;
  readonly last: bigint;
  readonly prefixLength: number;
}

/** @returns undefined unless the text is an address in a strict form, without a zone */
export function familyOf(text: string): Family | undefined {
  return addressBits(text)?.family;
}

/**
 * Reads `address/length`, or an address alone.
 *
 * @returns undefined where it is none, or where bits are set after the prefix
 */
export function parseIpBlock(text: string): IpBlock | undefined {
  const [address = "", length, more] = text.split("/");
  const written = addressBits(address);
  if (written === undefined || more !== undefined) return undefined;
  const { family, bits: first } = written;
  const width = family === 4 ? 32 : 128;
  if (length !== undefined && !/^(?:0|[1-9][0-9]{0,2})$/.test(length)) return undefined;
  const prefixLength = length === undefined ? width : Number(length);
  if (prefixLength > width) return undefined;
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

/** Reads an address as it is written: an IPv4-mapped address stays an IPv6 address. */
function addressBits(text: string): { readonly family: Family; readonly bits: bigint } | undefined {
  if (text.includes(":")) {
    const bits = parseIpv6(text);
    return bits === undefined ? undefined : { family: 6, bits };
  }
  const bits = parseIpAddress(text)?.bits;
  return bits === undefined ? undefined : { family: 4, bits };
}
