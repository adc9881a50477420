/**
 * The nodes and edges that are drawn: columns that are grouped, opened one at a time, and shown in pages, so that there are never
 * more than a few hundred, however much there is.
 */
import type { Reached } from "./graph-decisions.ts";
import {
  byName,
  count,
  distinct,
  type Entry,
  groupPolicies,
  groupResources,
  groupSources,
  isBundle,
} from "./graph-groups.ts";
import type { Column, Opened } from "./graph-opened.ts";
import type { Focus, Gateways, Leaf, Path } from "./graph-paths.ts";

/** So many of a column, or of something that is open in it, are shown at a time. */
export const mostAtOnce = 20;
export interface Node {
  readonly key: string;
  readonly column: Column;
  readonly kind: Leaf["kind"] | "group-of" | "more" | "before";
  readonly name: string;
  readonly note?: string;
  /** Of a record. */
  readonly id?: string;
  readonly denies?: boolean;
  /** Whether it is inside of what is open above it. */
  readonly isInner?: boolean;
  /** Absent where there is nothing to open. */
  readonly isOpen?: boolean;
  /** Of a resource, where the graph is about one user or device: what is decided now. */
  readonly reached?: Reached;
  /** Of what leads to another page: of what, and which. */
  readonly turnsTo?: { readonly owner: string; readonly page: number };
}

export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly denies: boolean;
  /** How many connections it stands for. */
  readonly count: number;
}

export interface AccessGraph {
  readonly columns: Readonly<Record<Column, readonly Node[]>>;
  readonly edges: readonly Edge[];
}

/** Users of a group that is open, read of the API. */
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

/** By the keys of resources: gateways by which something is allowed to be reached. */
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
  /** By the key of each leaf, the node that stands for it. */
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

/** Users of an open group: what leads from them is what leads from the group. */
function memberNodes({ group, users, total }: Members, opened: Opened): readonly Node[] {
  const { page, first } = pageOf(total, opened.get(group) ?? 0);
  const rest = total - first - users.length;
  return [
    ...(first > 0 ? [turningNode("source", group, "before", page, first, true)] : []),
    ...users.map((user) => nodeOf("source", { ...user, key: `member:${user.key}` }, { isInner: true })),
    ...(rest > 0 && users.length > 0 ? [turningNode("source", group, "more", page, rest, true)] : []),
    ...(total === 0
      ? [{ key: `empty:${group}`, column: "source", kind: "words", name: "Nobody is in it", isInner: true } as const]
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
    name: kind === "more" ? `and ${count(size)} more` : `${count(size)} before these`,
    isInner,
    turnsTo: { owner, page: page + (kind === "more" ? 1 : -1) },
  };
}

function nodeOf(column: Column, { key, kind, id, name, note }: Leaf, more: Partial<Node> = {}): Node {
  return {
    key,
    column,
    kind,
    name,
    ...(id === undefined ? {} : { id }),
    ...(note === undefined ? {} : { note }),
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

/** All nodes and edges that lead to something, and from it. */
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
