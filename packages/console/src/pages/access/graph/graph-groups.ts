/** Groups of leaves, which keep long columns readable. */

import { compareText } from "../../../messages/format.ts";
import { t } from "../../../messages/i18n.ts";
import type { Gateways, Leaf, Path } from "./graph-paths.ts";

/** Longer columns are grouped. */
const mostUngrouped = 24;

/** A group in a column, which can be expanded. */
export interface Bundle {
  readonly key: string;
  readonly name: string;
  readonly note?: string;
  readonly leaves: readonly Leaf[];
}
export type Entry = Leaf | Bundle;
export const isBundle = (entry: Entry): entry is Bundle => "leaves" in entry;

export const byName = (left: Leaf, right: Leaf) => compareText(left.name, right.name);

/** Short columns keep the order of the policies. Long columns are sorted by name and group users and devices. */
export function groupSources(leaves: readonly Leaf[]): readonly Entry[] {
  if (leaves.length <= mostUngrouped) return leaves;
  const single = (kind: "user" | "device"): readonly Entry[] => {
    const found = leaves.filter((leaf) => leaf.kind === kind).sort(byName);
    return found.length < 3
      ? found
      : [
          {
            key: `${kind}s`,
            name: t(`graph.groups.${kind}s`, { count: found.length }),
            note: t("graph.groups.individual"),
            leaves: found,
          },
        ];
  };
  return [
    ...leaves.filter(({ kind }) => kind === "words"),
    ...leaves.filter(({ kind }) => kind === "group").sort(byName),
    ...single("user"),
    ...single("device"),
  ];
}

/** Policies in the order of evaluation, in ranges of equal size. */
export function groupPolicies(paths: readonly Path[]): readonly Entry[] {
  if (paths.length <= mostUngrouped) return paths.map(({ policy }) => policy);
  const size = paths.length <= 500 ? 25 : 100;
  const last = paths.at(-1)?.place ?? 0;
  const bundles: Bundle[] = [];
  for (let first = 1; first <= last; first += size) {
    const inside = paths.filter(({ place }) => place >= first && place < first + size);
    if (inside.length === 0) continue;
    const denied = inside.filter(({ denies }) => denies).length;
    bundles.push({
      key: `p.${(first - 1) / size}`,
      name: t("graph.groups.policies", { first, last: Math.min(first + size - 1, last) }),
      note: `${t("graph.groups.allow", { count: inside.length - denied })}, ${t("graph.groups.deny", { count: denied })}`,
      leaves: inside.map(({ policy }) => policy),
    });
  }
  return bundles;
}

/** Groups resources by the gateways that serve them. */
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
      name: t("graph.groups.resources", { count: inside.length }),
      note: formatBehind(behind),
      leaves: inside.sort(byName),
    }),
  );
  return [...words, ...bundles];
}

function formatBehind(gateways: readonly Leaf[]): string {
  if (gateways.length === 0) return t("graph.groups.behindNone");
  const names = gateways.slice(0, 2).map(({ name }) => name);
  const count = gateways.length - names.length;
  return count > 0
    ? t("graph.groups.behindMore", { gateways: names.join(", "), count })
    : t("graph.groups.behind", { gateways: names.join(", ") });
}

/** FNV-1a hash: a short and stable key for the URL. */
function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return hash.toString(36);
}

export function distinct(leaves: readonly Leaf[]): Leaf[] {
  return [...new Map(leaves.map((leaf) => [leaf.key, leaf])).values()];
}
