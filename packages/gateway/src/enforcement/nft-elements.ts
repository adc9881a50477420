/** The elements of nftables sets: addresses and ranges of addresses, by family. */
import { disjointRanges } from "@gatehouse/addresses/disjoint-ranges";
import { formatIpAddress } from "@gatehouse/addresses/ip-address";
import { type Family, type IpBlock, parseIpBlock } from "@gatehouse/addresses/ip-block";
import type { NftSet } from "./nft-state.ts";

export const families = [4, 6] as const;
export const addressType = { 4: "ipv4_addr", 6: "ipv6_addr" } as const;
/** The name of a family in the expressions of rules. */
export const word = { 4: "ip", 6: "ip6" } as const;

export function nftSet(
  kind: NftSet["kind"],
  type: string,
  isInterval: boolean,
  elements: ReadonlyMap<string, string>,
): NftSet {
  return { kind, type, isInterval, elements };
}

/** Returns disjoint ranges, because the kernel's sets accept no overlaps. */
export function blockElements(blocks: readonly IpBlock[], family: Family): Map<string, string> {
  const ofFamily = blocks.filter((block) => block.family === family).map((block) => ({ block, value: "" }));
  return new Map(disjointRanges(ofFamily).map(({ first, last }) => [rangeText(family, first, last), ""]));
}

export function rangeText(family: Family, first: bigint, last: bigint): string {
  const format = (bits: bigint) => formatIpAddress({ version: family, bits });
  return first === last ? format(first) : `${format(first)}-${format(last)}`;
}

/** @throws Error for an invalid block, which `validate-configuration.ts` rules out */
export function validBlock(text: string): IpBlock {
  const block = parseIpBlock(text);
  if (block === undefined) throw new Error(`${JSON.stringify(text)} is not an address block`);
  return block;
}
