/** Parses and formats single IP addresses. An address consists of its bits and its version. */

export type IpVersion = 4 | 6;

export interface IpAddress {
  readonly version: IpVersion;
  /** The address as an unsigned integer of 32 or 128 bits. */
  readonly bits: bigint;
}

const IPV4_NUMBER = /^(?:0|[1-9][0-9]{0,2})$/;
const IPV6_GROUP = /^[0-9a-f]{1,4}$/i;
const LONGEST_IPV6_TEXT = 45;

/** ::ffff:0:0/96 without its last 32 bits (RFC 4291, section 2.5.5.2). */
const IPV4_MAPPED_PREFIX = 0xffffn;

/** Returns the number of bits of an address. */
export function addressWidth(version: IpVersion): 32 | 128 {
  return version === 4 ? 32 : 128;
}

/**
 * Parses one IPv4 or IPv6 address in strict form: four decimal numbers without leading zeros (some programs
 * read those as octal), or RFC 4291 text. Shorthand (10.1), hexadecimal and zone identifiers (fe80::1%eth0) are
 * refused.
 *
 * An IPv4-mapped IPv6 address (::ffff:192.0.2.1) becomes its IPv4 address. Dual-stack sockets report IPv4 peers in that
 * form, and another spelling must not bypass a rule about 192.0.2.1.
 *
 * @returns undefined if the text is not an address
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (!text.includes(":")) {
    const bits = parseIpv4(text);
    return bits === undefined ? undefined : { version: 4, bits: BigInt(bits) };
  }
  const bits = parseIpv6(text);
  if (bits === undefined) return undefined;
  return isIpv4Mapped(bits) ? { version: 4, bits: bits & 0xffff_ffffn } : { version: 6, bits };
}

/** Whether 128 bits are an IPv4-mapped address. */
export function isIpv4Mapped(bits: bigint): boolean {
  return bits >> 32n === IPV4_MAPPED_PREFIX;
}

/** Formats an address canonically: dotted decimal, or RFC 5952. */
export function formatIpAddress({ version, bits }: IpAddress): string {
  if (version === 4) {
    return [24n, 16n, 8n, 0n].map((shift) => String((bits >> shift) & 0xffn)).join(".");
  }
  const groups = Array.from({ length: 8 }, (_, index) => Number((bits >> BigInt(112 - 16 * index)) & 0xffffn));
  const gap = longestZeroRun(groups);
  const hex = groups.map((group) => group.toString(16));
  if (gap.length < 2) return hex.join(":");
  return `${hex.slice(0, gap.start).join(":")}::${hex.slice(gap.start + gap.length).join(":")}`;
}

function parseIpv4(text: string): number | undefined {
  const numbers = text.split(".", 5);
  if (numbers.length !== 4) return undefined;
  let bits = 0;
  for (const number of numbers) {
    if (!IPV4_NUMBER.test(number) || Number(number) > 255) return undefined;
    bits = bits * 256 + Number(number);
  }
  return bits;
}

/** Parses 128 bits as written, without translating an IPv4-mapped address. */
export function parseIpv6(text: string): bigint | undefined {
  if (text.length > LONGEST_IPV6_TEXT) return undefined;
  const withoutDots = text.includes(".") ? lastFourBytesAsGroups(text) : text;
  if (withoutDots === undefined) return undefined;

  const [before = "", after, ...more] = withoutDots.split("::");
  if (more.length > 0) return undefined;
  const left = before === "" ? [] : before.split(":");
  const right = after === undefined || after === "" ? [] : after.split(":");
  const missing = 8 - left.length - right.length;
  // "::" replaces at least one group. Without it, all eight groups are required.
  if (after === undefined ? missing !== 0 : missing < 1) return undefined;

  let digits = "";
  for (const group of [...left, ...new Array<string>(missing).fill("0"), ...right]) {
    if (!IPV6_GROUP.test(group)) return undefined;
    digits += group.padStart(4, "0");
  }
  return BigInt(`0x${digits}`);
}

/** Rewrites the dotted end of "64:ff9b::192.0.2.1" as two hexadecimal groups. */
function lastFourBytesAsGroups(text: string): string | undefined {
  const start = text.lastIndexOf(":") + 1;
  const bits = parseIpv4(text.slice(start));
  if (bits === undefined) return undefined;
  return `${text.slice(0, start)}${Math.floor(bits / 65_536).toString(16)}:${(bits % 65_536).toString(16)}`;
}

/** Returns the longest run of zero groups, the first among equals (RFC 5952, section 4.2). */
function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let longest = { start: 0, length: 0 };
  let start = 0;
  for (const [index, group] of groups.entries()) {
    if (group !== 0) start = index + 1;
    else if (index + 1 - start > longest.length) longest = { start, length: index + 1 - start };
  }
  return longest;
}
