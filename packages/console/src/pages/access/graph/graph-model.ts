/**
 * The nodes and edges of the graph. Columns are grouped and paged, and each column has at most one expanded group, so
 * that the graph never has more than a few hundred nodes.
 */

import { t } from "../../../messages/i18n.ts";
import type { Reached } from "./graph-decisions.ts";
import { byName, distinct, type Entry, groupPolicies, groupResources, groupSources, isBundle } from "./graph-groups.ts";
import type { Column, Opened } from "./graph-opened.ts";
import type { Focus, Gateways, Leaf, Path } from "./graph-paths.ts";

/** The page size of a column and of an expanded group. */
export const mostAtOnce = 20;
export interface Node {
  readonly key: string;
  readonly column: Column;
  readonly kind: Leaf["kind"] | "group-of" | "more" | "before";
  readonly name: string;
  readonly note?: string;
  readonly tone?: Leaf["tone"];
  /** The record's id. */
  readonly id?: string;
  readonly denies?: boolean;
  /** Whether the node belongs to the expanded group above it. */
  readonly isInner?: boolean;
  /** Undefined if the node cannot be expanded. */
  readonly isOpen?: boolean;
  /** The current decision for a resource, if the graph is filtered by one user or device. */
  readonly reached?: Reached;
  /** The page that the node leads to, and the column or group that it belongs to. */
  readonly turnsTo?: { readonly owner: string; readonly page: number };
}

export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly denies: boolean;
  /** The number of connections that the edge represents. */
  readonly count: number;
}

export interface AccessGraph {
  readonly columns: Readonly<Record<Column, readonly Node[]>>;
  readonly edges: readonly Edge[];
}

/** Users of the expanded group. */
export interface Members {
  readonly group: string;
  readonly users: readonly Leaf[];
  readonly total: number;
}

interface Question {
  readonly paths: readonly Path[];
  readonly gateways: Gateways;
  readonly focus: Focus | undefined;
  readonly opened: Opened;
  readonly members: Members | undefined;
}

export function buildGraph({ paths, gateways, focus, opened, members }: Question): AccessGraph {
  const denying = new Set(paths.filter(({ denies }) => denies).map(({ policy }) => policy.key));
  const used = usedGateways(paths);
  const source = showColumn("source", groupSources(distinct(paths.flatMap(({ sources }) => sources))), opened, members);
  const policy = showColumn("policy", groupPolicies(paths), opened);
  const resource = showColumn(
    "resource",
    groupResources(distinct(paths.flatMap((path) => path.resources)), gateways),
    opened,
  );
  const carrying = new Set([...used.values()].flatMap((keys) => [...keys.keys()]));
  const gateway = showColumn(
    "gateway",
    distinct([...used.values()].flatMap((keys) => [...keys.values()]))
      .filter(({ key }) => carrying.has(key))
      .sort(byName),
    opened,
  );
  const edges = new EdgeCounts();
  const isSubject = focus !== undefined && (focus.leaf.kind === "user" || focus.leaf.kind === "device");
  const subjects: Node[] = isSubject ? [nodeOf("subject", { ...focus.leaf, key: `subject:${focus.leaf.key}` })] : [];
  for (const { policy: one, denies, sources, resources } of paths) {
    const at = policy.places.get(one.key) ?? "";
    for (const { key } of sources) edges.add(source.places.get(key), at, denies);
    for (const { key } of resources) edges.add(at, resource.places.get(key), denies);
  }
  for (const [key, keys] of used) {
    for (const to of keys.keys()) edges.add(resource.places.get(key), gateway.places.get(to), false);
  }
  for (const { key } of subjects) for (const each of new Set(source.places.values())) edges.add(key, each, false);
  return {
    columns: {
      subject: subjects,
      source: source.nodes,
      policy: policy.nodes.map((node) => (denying.has(node.key) ? { ...node, denies: true } : node)),
      resource: resource.nodes,
      gateway: gateway.nodes,
    },
    edges: edges.list(),
  };
}

/** Gateways that carry allowed traffic, by the key of the resource. */
function usedGateways(paths: readonly Path[]): ReadonlyMap<string, ReadonlyMap<string, Leaf>> {
  const used = new Map<string, Map<string, Leaf>>();
  for (const { resources, gatewaysOf } of paths) {
    for (const resource of resources) {
      for (const gateway of gatewaysOf(resource)) {
        const known = used.get(resource.key) ?? new Map<string, Leaf>();
        used.set(resource.key, known.set(gateway.key, gateway));
      }
    }
  }
  return used;
}

interface ShownColumn {
  readonly nodes: readonly Node[];
  /** The node that represents each leaf, by the key of the leaf. */
  readonly places: ReadonlyMap<string, string>;
}

function showColumn(column: Column, entries: readonly Entry[], opened: Opened, members?: Members): ShownColumn {
  const nodes: Node[] = [];
  const places = new Map<string, string>();
  const place = (entry: Entry, at: string) => {
    for (const { key } of isBundle(entry) ? entry.leaves : [entry]) places.set(key, at);
  };
  const sizeOf = (some: readonly Entry[]) =>
    some.reduce((sum, entry) => sum + (isBundle(entry) ? entry.leaves.length : 1), 0);
  const showPage = (owner: string, all: readonly Entry[], isInner: boolean, each: (entry: Entry) => void) => {
    const { page, first, last } = pageOf(all.length, opened.get(owner) ?? 0);
    const side = (kind: "before" | "more", some: readonly Entry[]) => {
      if (some.length === 0) return;
      const node = turningNode(column, owner, kind, page, sizeOf(some), isInner);
      nodes.push(node);
      for (const entry of some) place(entry, node.key);
    };
    side("before", all.slice(0, first));
    all.slice(first, last).forEach(each);
    side("more", all.slice(last));
  };
  showPage(column, entries, false, (entry) => {
    if (!isBundle(entry)) {
      places.set(entry.key, entry.key);
      nodes.push(nodeOf(column, entry, entry.kind === "group" ? { isOpen: members?.group === entry.key } : {}));
      if (members !== undefined && members.group === entry.key) nodes.push(...memberNodes(members, opened));
      return;
    }
    const isOpen = opened.has(entry.key);
    nodes.push({
      column,
      kind: "group-of",
      isOpen,
      key: entry.key,
      name: entry.name,
      ...(entry.note === undefined ? {} : { note: entry.note }),
    });
    if (!isOpen) return place(entry, entry.key);
    showPage(entry.key, entry.leaves, true, (leaf) => {
      if (isBundle(leaf)) return;
      places.set(leaf.key, leaf.key);
      nodes.push(nodeOf(column, leaf, { isInner: true }));
    });
  });
  return { nodes, places };
}

function pageOf(length: number, asked: number) {
  const page = Math.min(asked, Math.max(0, Math.ceil(length / mostAtOnce) - 1));
  const first = page * mostAtOnce;
  return { page, first, last: Math.min(first + mostAtOnce, length) };
}

/** The users of an expanded group. The edges of the group apply to them. */
function memberNodes({ group, users, total }: Members, opened: Opened): readonly Node[] {
  const { page, first } = pageOf(total, opened.get(group) ?? 0);
  const rest = total - first - users.length;
  return [
    ...(first > 0 ? [turningNode("source", group, "before", page, first, true)] : []),
    ...users.map((user) => nodeOf("source", { ...user, key: `member:${user.key}` }, { isInner: true })),
    ...(rest > 0 && users.length > 0 ? [turningNode("source", group, "more", page, rest, true)] : []),
    ...(total === 0
      ? [
          {
            key: `empty:${group}`,
            column: "source",
            kind: "words",
            name: t("graph.nodes.noMembers"),
            isInner: true,
          } as const,
        ]
      : []),
  ];
}

function turningNode(
  column: Column,
  owner: string,
  kind: "before" | "more",
  page: number,
  size: number,
  isInner: boolean,
): Node {
  return {
    key: `${kind}:${owner}`,
    column,
    kind,
    name: kind === "more" ? t("graph.nodes.more", { count: size }) : t("graph.nodes.previous", { count: size }),
    isInner,
    turnsTo: { owner, page: page + (kind === "more" ? 1 : -1) },
  };
}

function nodeOf(column: Column, { key, kind, id, name, note, tone }: Leaf, more: Partial<Node> = {}): Node {
  return {
    key,
    column,
    kind,
    name,
    ...(id === undefined ? {} : { id }),
    ...(note === undefined ? {} : { note }),
    ...(tone === undefined ? {} : { tone }),
    ...more,
  };
}

class EdgeCounts {
  readonly #counts = new Map<string, { from: string; to: string; denies: boolean; count: number }>();

  add(from: string | undefined, to: string | undefined, denies: boolean): void {
    if (from === undefined || to === undefined) return;
    const key = `${from} ${to} ${denies}`;
    const known = this.#counts.get(key);
    if (known === undefined) this.#counts.set(key, { from, to, denies, count: 1 });
    else known.count += 1;
  }

  list(): readonly Edge[] {
    return [...this.#counts.values()];
  }
}

/** All nodes on paths to or from a node. */
export function pathsThrough(edges: readonly Edge[], key: string): ReadonlySet<string> {
  const found = new Set([key]);
  const follow = (from: (edge: Edge) => string, to: (edge: Edge) => string) => {
    const reached = new Set([key]);
    for (let grown = -1; grown !== reached.size; ) {
      grown = reached.size;
      for (const edge of edges) if (reached.has(from(edge))) reached.add(to(edge));
    }
    for (const each of reached) found.add(each);
  };
  follow(
    (edge) => edge.from,
    (edge) => edge.to,
  );
  follow(
    (edge) => edge.to,
    (edge) => edge.from,
  );
  return found;
}
