/** Compares what nft lists with the state that the agent wrote. Any difference is a change by another program. */
import { formatIpAddress } from "@gatehouse/addresses/ip-address";
import { canonicalAddress, parseIpBlock } from "@gatehouse/addresses/ip-block";
import { isBaseChain, type NftSet, type NftState } from "./nft-state.ts";

/**
 * Returns the handles of all rules by chain, from `nft --terse --handle list table`. The kernel never uses a handle
 * twice, so that equal handles mean the same rules.
 *
 * @returns undefined if the table is dormant, or has other chains or another number of rules than the state
 */
export function ruleHandles(listed: string, { chains }: NftState): string | undefined {
  if (/^\tflags .*dormant/m.test(listed)) return undefined;
  const found = new Map<string, string[]>();
  let rules: string[] | undefined;
  for (const line of listed.split("\n")) {
    const chain = /^\tchain (\S+) \{/.exec(line)?.[1];
    if (chain !== undefined) {
      rules = [];
      found.set(chain, rules);
    } else if (line === "\t}") rules = undefined;
    // A long rule takes several lines. Its handle is at the end of the last one.
    else if (rules !== undefined) rules.push(...(/# handle ([0-9]+)$/.exec(line)?.slice(1) ?? []));
  }
  if (found.size !== chains.size) return undefined;
  for (const [chain, lines] of chains) {
    if (found.get(chain)?.length !== lines.length - (isBaseChain(lines) ? 1 : 0)) return undefined;
  }
  return JSON.stringify([...found].sort());
}

/** Whether the table that `nft -j list table` listed has the elements of the state. */
export function hasElements(listed: string, { sets }: NftState): boolean {
  const { nftables } = JSON.parse(listed) as { readonly nftables: readonly Listed[] };
  const found = nftables.flatMap(({ set, map }) => set ?? map ?? []);
  return (
    found.length === sets.size &&
    found.every(({ name, elem = [] }) => {
      const wanted = sets.get(name);
      if (wanted === undefined) return false;
      if (wanted.dynamicSize !== undefined) return true;
      // Elements of several parts, of relays, are only counted.
      if (!isAddressSet(wanted)) return elem.length === wanted.elements.size;
      return sameText(elem.map(listedElement), [...wanted.elements].map(wantedElement));
    })
  );
}

interface Listed {
  readonly set?: ListedSet;
  readonly map?: ListedSet;
}
interface ListedSet {
  readonly name: string;
  readonly elem?: readonly unknown[];
}

/** A range of addresses with its verdict, or a text that equals no other. */
type Element = { readonly first: bigint; readonly last: bigint; readonly verdict: string } | string;

function isAddressSet({ type }: NftSet): boolean {
  return /^ipv[46]_addr(?: : verdict)?$/.test(type);
}

function wantedElement([key, verdict]: readonly [string, string]): Element {
  const [first = "", last = first] = key.split("-");
  return rangeOf(first, last, verdict);
}

/** Reads `key`, or `[key, { goto: { target } }]`. A key is an address, a range or a prefix, also inside `elem`. */
function listedElement(listed: unknown): Element {
  if (Array.isArray(listed)) {
    const [key, verdict] = listed as [unknown, { readonly goto?: { readonly target?: string } }];
    return rangeOfKey(key, `goto ${verdict.goto?.target ?? JSON.stringify(verdict)}`);
  }
  return rangeOfKey(listed, "");
}

function rangeOfKey(key: unknown, verdict: string): Element {
  if (typeof key === "string") return rangeOf(key, key, verdict);
  const { elem, range, prefix } = key as {
    readonly elem?: { readonly val: unknown };
    readonly range?: readonly [string, string];
    readonly prefix?: { readonly addr: string; readonly len: number };
  };
  if (elem !== undefined) return rangeOfKey(elem.val, verdict);
  if (range !== undefined) return rangeOf(...range, verdict);
  const block = prefix === undefined ? undefined : parseIpBlock(`${prefix.addr}/${prefix.len}`);
  return block === undefined ? JSON.stringify(key) : { first: block.first, last: block.last, verdict };
}

function rangeOf(from: string, to: string, verdict: string): Element {
  const [first, last] = [from, to].map((address) => parseIpBlock(canonicalAddress(address) ?? address)?.first);
  return first === undefined || last === undefined ? `${from}-${to} ${verdict}` : { first, last, verdict };
}

function sameText(left: readonly Element[], right: readonly Element[]): boolean {
  return textOf(left) === textOf(right);
}

/** nft may list adjacent ranges as one, so they are joined if their verdicts are equal. */
function textOf(elements: readonly Element[]): string {
  const others = elements.filter((element) => typeof element === "string").sort();
  const ranges = elements.filter((element) => typeof element !== "string");
  ranges.sort((one, other) => (one.first < other.first ? -1 : 1));
  const joined: { first: bigint; last: bigint; verdict: string }[] = [];
  for (const range of ranges) {
    const previous = joined.at(-1);
    if (previous?.verdict === range.verdict && previous.last + 1n === range.first) previous.last = range.last;
    else joined.push({ ...range });
  }
  const hex = (bits: bigint) => formatIpAddress({ version: 6, bits });
  return [...joined.map(({ first, last, verdict }) => `${hex(first)}-${hex(last)} ${verdict}`), ...others].join("\n");
}

/** Returns the packets of each address in a map that nft listed as JSON: `[{ elem: { val, counter } }, verdict]`. */
export function countedElements(listed: string): readonly (readonly [address: string, packets: number])[] {
  if (listed === "") return [];
  const { nftables } = JSON.parse(listed) as { readonly nftables: readonly { readonly map?: ListedMap }[] };
  return nftables.flatMap(({ map }) =>
    (map?.elem ?? []).flatMap(([{ elem }]) =>
      elem?.val === undefined ? [] : [[elem.val, elem.counter?.packets ?? 0] as const],
    ),
  );
}

interface ListedMap {
  readonly elem?: readonly (readonly [
    { readonly elem?: { readonly val?: string; readonly counter?: { readonly packets?: number } } },
    unknown,
  ])[];
}
