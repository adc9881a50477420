/** What is shown together, where a column is long. */
import type { Gateways, Leaf, Path } from "./graph-paths.ts";

/** A column that is not longer is shown ungrouped. */
const mostUngrouped = 24;

/** A group of a column that may be opened. */
export interface Bundle {
  readonly key: string;
  readonly name: string;
  readonly note?: string;
  readonly leaves: readonly Leaf[];
}
export type Entry = Leaf | Bundle;
export const isBundle = (entry: Entry): entry is Bundle => "leaves" in entry;

const collator = new Intl.Collator(undefined, { sensitivity: "base", numeric: true });
export const byName = (left: Leaf, right: Leaf) => collator.compare(left.name, right.name);

/** A few as they come in the order of policies; many by their names, and users and devices that are named singly together. */
export function groupSources(leaves: readonly Leaf[]): readonly Entry[] {
  if (leaves.length <= mostUngrouped) return leaves;
  const single = (kind: "user" | "device", name: string): readonly Entry[] => {
    const found = leaves.filter((leaf) => leaf.kind === kind).sort(byName);
    return found.length < 3
      ? found
      : [{ key: `${kind}s`, name: `${count(found.length)} ${name}`, note: "named singly", leaves: found }];
  };
  return [
    ...leaves.filter(({ kind }) => kind === "words"),
    ...leaves.filter(({ kind }) => kind === "group").sort(byName),
    ...single("user", "users"),
    ...single("device", "devices"),
  ];
}

/** By their order: what decides first stands first. */
export function groupPolicies(paths: readonly Path[]): readonly Entry[] {
  if (paths.length <= mostUngrouped) return paths.map(({ policy }) => policy);
  const size = paths.length <= 500 ? 25 : 100;
  const last = paths.at(-1)?.place ?? 0;
  const bundles: Bundle[] = [];
  for (let first = 1; first <= last; first += size) {
    const inside = paths.filter(({ place }) => place >= first && place < first + size);
    if (inside.length === 0) continue;
    const denied = inside.filter(({ denies }) => denies).length;
    const words = [`${inside.length - denied} allow`, `${denied} deny`];
    bundles.push({
      key: `p.${(first - 1) / size}`,
      name: `Policies ${count(first)} to ${count(Math.min(first + size - 1, last))}`,
      note: words.join(", "),
      leaves: inside.map(({ policy }) => policy),
    });
  }
  return bundles;
}

/** Those that the same gateways have, together. */
export function groupResources(leaves: readonly Leaf[], gateways: Gateways): readonly Entry[] {
  if (leaves.length <= mostUngrouped) return leaves;
  const alike = new Map<string, { readonly behind: readonly Leaf[]; readonly leaves: Leaf[] }>();
  const words = leaves.filter(({ kind }) => kind === "words");
  for (const leaf of leaves) {
    if (leaf.kind === "words") continue;
    const behind = gateways.ofResource.get(leaf.key) ?? [];
    const key = shortHash(behind.map((gateway) => gateway.key).join());
    const known = alike.get(key);
    if (known === undefined) alike.set(key, { behind, leaves: [leaf] });
    else known.leaves.push(leaf);
  }
  if (alike.size < 2) return [...words, ...[...leaves].filter(({ kind }) => kind !== "words").sort(byName)];
  const bundles = [...alike].map(
    ([key, { behind, leaves: inside }]): Bundle => ({
      key: `r.${key}`,
      name: `${count(inside.length)} ${inside.length === 1 ? "resource" : "resources"}`,
      note: behind.length === 0 ? "behind no gateway" : `behind ${firstNames(behind)}`,
      leaves: inside.sort(byName),
    }),
  );
  return [...words, ...bundles];
}

function firstNames(leaves: readonly Leaf[]): string {
  const names = leaves.slice(0, 2).map(({ name }) => name);
  return leaves.length > names.length
    ? `${names.join(", ")} and ${leaves.length - names.length} more`
    : names.join(", ");
}

/** FNV-1a: a short name for something long, the same each time, for the address. */
function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return hash.toString(36);
}

export const count = (number: number): string => number.toLocaleString("en");

export function distinct(leaves: readonly Leaf[]): Leaf[] {
  return [...new Map(leaves.map((leaf) => [leaf.key, leaf])).values()];
}
