/** Addresses that no resolved name opens, and that no new PRIVATE address may have. */
import { formatIpAddress, type IpVersion } from "./ip-address.ts";
import { type IpBlock, isWithin, parseIpBlock } from "./ip-block.ts";
import { formatIpRange, type IpRange, lastAddressOf } from "./ip-ranges.ts";
import { DEVICE_POOL, isIsatap, nonRoutableBlocks } from "./special-purpose.ts";

/**
 * Metadata services of clouds outside link-local space. They give credentials of the machine to each program on it:
 * Azure, Oracle (two), AWS, Google, Scaleway, Akamai and Alibaba.
 */
const metadataServices = [
  "168.63.129.16/32",
  "192.0.0.192/32",
  "fd00:c1::a9fe:a9fe/128",
  "fd00:ec2::/32",
  "fd20:ce::254/128",
  "fd00:42::42/128",
  "fd00:a9fe:a9fe::1/128",
  "fd00:100::100:200/128",
];

/**
 * Unspecified, loopback, link-local, multicast and reserved addresses, the shared address space of tunnels, and
 * metadata services. Other private networks (RFC 1918, fc00::/7) are open.
 */
const closedBlocks: readonly IpBlock[] = [
  ...nonRoutableBlocks,
  ...[DEVICE_POOL, ...metadataServices].flatMap((text) => parseIpBlock(text) ?? []),
];

/** Whether an address, or an IPv4 address that it embeds, is in a blocked range. @param more further blocked ranges */
export function isClosedTarget(address: string, more: readonly IpBlock[] = []): boolean {
  const closed = more.length === 0 ? closedBlocks : [...closedBlocks, ...more];
  return [address, ...embeddedAddresses(address)].some((one) => isWithin(one, closed));
}

/**
 * Returns the blocked range that a new PRIVATE address or block would open, or undefined. IPv4 addresses
 * that the range embeds count too. A larger block stays open although it contains metadata services, such as fc00::/7:
 * sites use such blocks.
 */
export function closedBlockOf({ version, first, prefixLength }: IpRange): string | undefined {
  const range: IpBlock = {
    family: version,
    first,
    last: lastAddressOf({ version, first, prefixLength }),
    prefixLength,
  };
  const low = embeddedBlocks(version, range.first);
  const high = embeddedBlocks(version, range.last);
  const closed =
    closedBlocks.find((block) => covers(block, range)) ??
    closedBlocks.find((block) => low.some((end) => covers(block, end)) && high.some((end) => covers(block, end)));
  return closed && formatIpRange({ ...closed, version: closed.family });
}

function embeddedBlocks(version: IpVersion, bits: bigint): readonly IpBlock[] {
  if (version === 4) return [];
  return embeddedAddresses(formatIpAddress({ version, bits })).flatMap((text) => parseIpBlock(text) ?? []);
}

function covers(outer: IpBlock, inner: IpBlock): boolean {
  return outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last;
}

/**
 * Returns the IPv4 addresses that translators and tunnels reach through an IPv6 address: IPv4-mapped, -translated and
 * -compatible addresses, NAT64 with the well-known and the local-use prefix (RFC 6052, RFC 8215), 6to4, Teredo, and
 * ISATAP with any prefix.
 */
export function embeddedAddresses(address: string): readonly string[] {
  const single = parseIpBlock(address);
  if (single?.family !== 6) return [];
  const bits = single.first;
  const byPrefix = embeddedByPrefix(bits);
  return isIsatap(bits) ? [...byPrefix, ipv4Text(bits)] : byPrefix;
}

function embeddedByPrefix(bits: bigint): readonly string[] {
  if (lastBitsPrefixes.some((prefix) => bits >> 32n === prefix)) return [ipv4Text(bits)];
  if (bits >> 112n === 0x2002n) return [ipv4Text(bits >> 80n)];
  if (bits >> 96n === 0x2001_0000n) return [ipv4Text(bits ^ 0xffff_ffffn)];
  return bits >> 80n === localTranslationPrefix ? localTranslations(bits) : [];
}

/** IPv4-compatible, IPv4-mapped, IPv4-translated and 64:ff9b::/96, without their last 32 bits. */
const lastBitsPrefixes = [0n, 0xffffn, 0xffff_0000n, 0x64_ff9bn << 64n];
/** 64:ff9b:1::/48 */
const localTranslationPrefix = 0x64_ff9b_0001n;

/**
 * A network chooses the length of its translation prefix. Bits after the embedded address are zero (RFC 6052, section
 * 2.2), which rules out most lengths. An address in 0.0.0.0/8 is a misreading if another length gives a real one.
 */
function localTranslations(bits: bigint): readonly string[] {
  const isZeroBelow = (count: bigint) => (bits & ((1n << count) - 1n)) === 0n;
  const upper = (count: bigint) => (bits >> 64n) & ((1n << count) - 1n);
  const lower = (count: bigint) => (bits >> (56n - count)) & ((1n << count) - 1n);
  const readings = [bits & 0xffff_ffffn];
  if (isZeroBelow(40n)) readings.push((upper(16n) << 16n) | lower(16n));
  if (isZeroBelow(32n)) readings.push((upper(8n) << 24n) | lower(24n));
  if (isZeroBelow(24n)) readings.push(lower(32n));
  const real = readings.filter((reading) => reading >> 24n !== 0n);
  return (real.length === 0 ? readings : real).map(ipv4Text);
}

function ipv4Text(bits: bigint): string {
  return formatIpAddress({ version: 4, bits: bits & 0xffff_ffffn });
}
