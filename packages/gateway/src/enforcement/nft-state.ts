/**
 * The state of the agent's nftables table as data, and the transaction that turns one state into another.
 * `traffic-rules.ts` makes names and elements of validated addresses, numbers and hashes. They contain no text of a
 * configuration.
 */

export interface NftSet {
  readonly kind: "set" | "map";
  /** The nft type, such as `ipv4_addr` or `ipv4_addr : verdict`. */
  readonly type: string;
  /** Whether elements are ranges. Ranges are always replaced as a whole. */
  readonly isInterval: boolean;
  /** Whether each element counts its packets. */
  readonly isCounted?: boolean;
  /** The most elements of a set to which rules add elements. The agent neither writes nor checks these. */
  readonly dynamicSize?: number;
  /** Elements by key. The value is the verdict in a map, and empty in a set. */
  readonly elements: ReadonlyMap<string, string>;
}

/** A table that is being built. */
export interface TableParts {
  readonly sets: Map<string, NftSet>;
  readonly chains: Map<string, readonly string[]>;
  readonly counters: Set<string>;
}

export interface NftState {
  readonly sets: ReadonlyMap<string, NftSet>;
  /** Rules by chain. A base chain starts with a line `type …`. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  readonly counters: ReadonlySet<string>;
}

/** How long rules keep an element that they do not use, in seconds. */
const dynamicSeconds = 10;

/** The number of elements in a line of a script. */
const elementsPerLine = 1000;

/** @returns a script for `nft -f -` that replaces the table */
export function wholeTable(table: string, state: NftState): string {
  return [
    `add table inet ${table}`,
    `delete table inet ${table}`,
    `add table inet ${table}`,
    ...additions(table, undefined, state),
    "",
  ].join("\n");
}

/**
 * @param before the current state of the table
 * @returns a script for `nft -f -`, empty if nothing changes
 */
export function tableChange(table: string, before: NftState, after: NftState): string {
  const lines = [...additions(table, before, after), ...removals(table, before, after)];
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

/**
 * Returns additions in order of reference: chains before maps, because nft resolves the chains of a new map at once.
 */
function additions(table: string, before: NftState | undefined, after: NftState): string[] {
  const chains: string[] = [];
  const names: string[] = [];
  const rules: string[] = [];
  const elements: string[] = [];
  for (const counter of after.counters) {
    if (before?.counters.has(counter) !== true) names.push(`add counter inet ${table} ${counter}`);
  }
  for (const [name, set] of after.sets) {
    const old = before?.sets.get(name);
    if (old === undefined) {
      names.push(`add ${set.kind} inet ${table} ${name} { type ${set.type} ; ${optionsOf(set)}}`);
    }
    if (old?.elements !== set.elements) elements.push(...elementChanges(table, name, old, set));
  }
  for (const [name, lines] of after.chains) {
    const old = before?.chains.get(name);
    if (old !== undefined && sameLines(old, lines)) continue;
    const base = isBaseChain(lines) ? lines[0] : undefined;
    if (old === undefined) chains.push(`add chain inet ${table} ${name}${base === undefined ? "" : ` { ${base} }`}`);
    else rules.push(`flush chain inet ${table} ${name}`);
    for (const line of base === undefined ? lines : lines.slice(1))
      rules.push(`add rule inet ${table} ${name} ${line}`);
  }
  return [...chains, ...names, ...rules, ...elements];
}

function optionsOf({ isInterval, isCounted, dynamicSize }: NftSet): string {
  const dynamic =
    dynamicSize === undefined ? "" : `size ${dynamicSize} ; flags dynamic,timeout ; timeout ${dynamicSeconds}s ; `;
  return `${isInterval ? "flags interval ; " : ""}${isCounted ? "counter ; " : ""}${dynamic}`;
}

/** Returns the removals of elements that nothing refers to after the additions. */
function removals(table: string, before: NftState, after: NftState): string[] {
  const lines: string[] = [];
  const chains = [...before.chains.keys()].filter((name) => !after.chains.has(name));
  const sets = [...before.sets].filter(([name]) => !after.sets.has(name));
  for (const chain of chains) lines.push(`flush chain inet ${table} ${chain}`);
  for (const [name, { kind }] of sets) lines.push(`delete ${kind} inet ${table} ${name}`);
  for (const chain of chains) lines.push(`delete chain inet ${table} ${chain}`);
  for (const counter of before.counters) {
    if (!after.counters.has(counter)) lines.push(`delete counter inet ${table} ${counter}`);
  }
  return lines;
}

function elementChanges(table: string, name: string, before: NftSet | undefined, after: NftSet): string[] {
  const old = before?.elements ?? new Map<string, string>();
  const added = [...after.elements].filter(([key, verdict]) => old.get(key) !== verdict);
  const removed = [...old].filter(([key, verdict]) => after.elements.get(key) !== verdict);
  if (added.length === 0 && removed.length === 0) return [];
  // New ranges may overlap old ones, which the kernel refuses. The old ones are therefore flushed first.
  if (after.isInterval) {
    const flush = old.size === 0 ? [] : [`flush ${after.kind} inet ${table} ${name}`];
    return [...flush, ...elementLines("add", table, name, [...after.elements])];
  }
  return [...elementLines("delete", table, name, removed), ...elementLines("add", table, name, added)];
}

function elementLines(
  verb: string,
  table: string,
  name: string,
  elements: readonly (readonly [string, string])[],
): string[] {
  const lines: string[] = [];
  for (let start = 0; start < elements.length; start += elementsPerLine) {
    const texts = elements
      .slice(start, start + elementsPerLine)
      .map(([key, verdict]) => (verdict === "" ? key : `${key} : ${verdict}`));
    lines.push(`${verb} element inet ${table} ${name} { ${texts.join(", ")} }`);
  }
  return lines;
}

/** Whether the rules belong to a base chain, which the kernel calls itself. */
export function isBaseChain(lines: readonly string[]): boolean {
  return lines[0]?.startsWith("type ") === true;
}

function sameLines(left: readonly string[], right: readonly string[]): boolean {
  return left === right || (left.length === right.length && left.every((line, index) => line === right[index]));
}
