import {
  addressWidth,
  formatIpAddress,
  type IpVersion,
  isIpv4Mapped,
  parseIpAddress,
  parseIpv6,
} from "./ip-address.ts";
import { quoteText } from "./quote-text.ts";

/** A block of addresses with a common prefix. A single address is a block with the full prefix length. */
export interface IpRange {
  readonly version: IpVersion;
  /** The lowest address: all bits after the prefix are zero. */
  readonly first: bigint;
  /** Length in bits: 0–32 or 0–128. */
  readonly prefixLength: number;
}

export type IpRangeReading =
  | { readonly ok: true; readonly value: IpRange }
  | { readonly ok: false; readonly problem: string };

const PREFIX_LENGTH = /^(?:0|[1-9][0-9]{0,2})$/;
const LONGEST_TEXT = 64;

/**
 * Parses an address ("192.0.2.1") or a CIDR block ("192.0.2.0/24", "2001:db8::/32").
 *
 * A block whose address has bits beyond the prefix ("192.0.2.7/24") is refused. It could mean the network or the one
 * machine, and the difference decides who gets access. IPv4-mapped blocks (::ffff:192.0.2.0/120) become their IPv4
 * blocks.
 *
 * @returns the range, or a problem with a remedy
 */
export function parseIpRange(text: string): IpRangeReading {
  if (text.length > LONGEST_TEXT) return problem(`${quoteText(text)} is too long for an IP address.`);
  const slash = text.indexOf("/");
  if (slash >= 0) return parseCidr(text, text.slice(0, slash), text.slice(slash + 1));

  const address = parseIpAddress(text);
  if (address === undefined) return problem(`${quoteText(text)} ${addressFault(text)}`);
  const { version, bits } = address;
  return { ok: true, value: { version, first: bits, prefixLength: addressWidth(version) } };
}

/** Returns the highest address of a range. */
export function lastAddressOf({ version, first, prefixLength }: IpRange): bigint {
  return first + (1n << BigInt(addressWidth(version) - prefixLength)) - 1n;
}

/** Whether every address of `inner` is in `outer`. Ranges of different versions share no address. */
export function rangeContains(outer: IpRange, inner: IpRange): boolean {
  if (outer.version !== inner.version || outer.prefixLength > inner.prefixLength) return false;
  const hostBits = BigInt(addressWidth(outer.version) - outer.prefixLength);
  return outer.first >> hostBits === inner.first >> hostBits;
}

/** Whether two ranges share an address. Blocks nest or are disjoint; they never cross. */
export function rangesOverlap(a: IpRange, b: IpRange): boolean {
  return rangeContains(a, b) || rangeContains(b, a);
}

/** Formats a range as CIDR, always with its prefix length: "192.0.2.1/32". */
export function formatIpRange(range: IpRange): string {
  return `${formatIpAddress({ version: range.version, bits: range.first })}/${range.prefixLength}`;
}

function parseCidr(text: string, addressText: string, prefixText: string): IpRangeReading {
  const written = parseWritten(addressText);
  if (written === undefined) {
    return problem(`${quoteText(text)} is not a CIDR block: ${quoteText(addressText)} ${addressFault(addressText)}`);
  }
  const width = addressWidth(written.version);
  const prefixLength = PREFIX_LENGTH.test(prefixText) ? Number(prefixText) : Number.NaN;
  if (!(prefixLength <= width)) {
    return problem(
      `${quoteText(text)} is not a CIDR block: after the slash comes the number of network bits, 0 to ${width}.`,
    );
  }
  const hostBits = BigInt(width - prefixLength);
  const first = (written.bits >> hostBits) << hostBits;
  const range = withoutMapping({ version: written.version, first, prefixLength });
  if (first !== written.bits) {
    const alone = formatIpAddress(parseIpAddress(addressText) ?? written);
    return problem(
      `${quoteText(text)} has bits set beyond its prefix. ` +
        `Write ${formatIpRange(range)} for the network, or ${alone} for the one address.`,
    );
  }
  return { ok: true, value: range };
}

function parseWritten(text: string): { version: IpVersion; bits: bigint } | undefined {
  if (!text.includes(":")) return parseIpAddress(text);
  const bits = parseIpv6(text);
  return bits === undefined ? undefined : { version: 6, bits };
}

/** Converts a block inside ::ffff:0:0/96 to its IPv4 block, so that each block has one spelling. */
function withoutMapping(range: IpRange): IpRange {
  if (range.version === 4 || range.prefixLength < 96 || !isIpv4Mapped(range.first)) return range;
  return { version: 4, first: range.first & 0xffff_ffffn, prefixLength: range.prefixLength - 96 };
}

/** Explains why a text is not an address. Returns the rest of the sentence after the text. */
function addressFault(text: string): string {
  if (text.includes("%")) return "has a zone identifier; leave out the % and what follows.";
  if (text.includes(":")) return "is not an IPv6 address: write up to eight hexadecimal groups, e.g. 2001:db8::1.";
  const numbers = text.split(".");
  if (!/^[0-9.]+$/.test(text)) return "is not an IPv4 or IPv6 address.";
  if (numbers.length !== 4 || numbers.includes("")) {
    return "is not an IPv4 address: write all four numbers, e.g. 192.0.2.1, or a network as 192.0.2.0/24.";
  }
  if (numbers.some((number) => number.length > 1 && number.startsWith("0"))) {
    return "is not an IPv4 address: write its numbers without leading zeros, which some programs read as octal.";
  }
  return "is not an IPv4 address: each of its four numbers must be from 0 to 255.";
}

function problem(text: string): IpRangeReading {
  return { ok: false, problem: text };
}
