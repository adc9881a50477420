/** Blocks as agents use them: as written, with both ends as numbers, and without IPv4-mapped translation. */
import { formatIpAddress, type IpVersion, parseIpAddress, parseIpv6 } from "./ip-address.ts";

/** The address family, as the kernel calls the IP version. */
export type Family = IpVersion;

export interface IpBlock {
  readonly family: Family;
  readonly first: bigint;
  readonly last: bigint;
  readonly prefixLength: number;
}

/** Returns the family of an address; undefined if the text is not an address in strict form, without a zone. */
export function familyOf(text: string): Family | undefined {
  return addressBits(text)?.family;
}

/** Returns the canonical text of an address (RFC 5952); undefined if the text is not an address. */
export function canonicalAddress(text: string): string | undefined {
  const address = addressBits(text);
  return address === undefined ? undefined : formatIpAddress({ version: address.family, bits: address.bits });
}

/**
 * Parses `address/length`, or an address alone.
 *
 * @returns undefined if the text is not a block, or if bits are set after the prefix
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

/** Whether an address in any form is in one of the blocks. */
export function isWithin(address: string, blocks: readonly IpBlock[]): boolean {
  const single = parseIpBlock(address);
  return (
    single !== undefined &&
    blocks.some(({ family, first, last }) => family === single.family && first <= single.first && single.first <= last)
  );
}

/** Parses an address as written: an IPv4-mapped address stays an IPv6 address. */
function addressBits(text: string): { readonly family: Family; readonly bits: bigint } | undefined {
  if (text.includes(":")) {
    const bits = parseIpv6(text);
    return bits === undefined ? undefined : { family: 6, bits };
  }
  const bits = parseIpAddress(text)?.bits;
  return bits === undefined ? undefined : { family: 4, bits };
}
