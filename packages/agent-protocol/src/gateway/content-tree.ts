import { canonicalJson } from "../link/canonical-json.ts";
import { type HashText, HashTree, type TreeChanges, type TreeSteps } from "../link/hash-tree.ts";
import type {
  ConfigurationContent,
  ConfigurationDifference,
  Destination,
  Membership,
  Peer,
  ResourceRules,
  Settings,
} from "./configuration.ts";

/** A configuration's content as hash trees. Trees are immutable, and versions share their common parts. */
export interface ContentTree {
  readonly settings: Settings;
  readonly peers: HashTree<Peer>;
  /** Without empty classes. */
  readonly classes: HashTree<HashTree<Membership>>;
  readonly resources: HashTree<ResourceRules>;
  readonly destinations: HashTree<Destination>;
}

export function contentTreeOf(content: ConfigurationContent): ContentTree {
  const classes = Object.entries(content.classes).map(([key, members]): [string, HashTree<Membership>] => [
    key,
    HashTree.of(Object.entries(members)),
  ]);
  return {
    settings: content.settings,
    peers: HashTree.of(Object.entries(content.peers)),
    classes: HashTree.of(classes.filter(([, members]) => members.size > 0)),
    resources: HashTree.of(Object.entries(content.resources)),
    destinations: HashTree.of(Object.entries(content.destinations)),
  };
}

export function contentOf(tree: ContentTree): ConfigurationContent {
  return {
    settings: tree.settings,
    peers: tree.peers.toRecord(),
    classes: Object.fromEntries(Array.from(tree.classes.entries(), ([key, members]) => [key, members.toRecord()])),
    resources: tree.resources.toRecord(),
    destinations: tree.destinations.toRecord(),
  };
}

/** Returns the hash of the content, which is the `root` of its header. */
export function contentRoot(tree: ContentTree, sha256: HashText): string {
  const { settings, peers, classes, resources, destinations } = tree;
  return sha256(
    canonicalJson({
      settings: sha256(canonicalJson(settings)),
      peers: peers.root(sha256),
      classes: classes.root(sha256),
      resources: resources.root(sha256),
      destinations: destinations.root(sha256),
    }),
  );
}

/** Computes the hashes of a content in steps, so that `contentRoot` finds them. */
export function* hashingContent(tree: ContentTree, sha256: HashText): TreeSteps<void> {
  const { peers, classes, resources, destinations } = tree;
  for (const part of [peers, classes, resources, destinations]) yield* part.hashing(sha256);
}

/** Returns the changes from one content to another. Its size depends on the changes only. */
export function differenceBetween(before: ContentTree, after: ContentTree, sha256: HashText): ConfigurationDifference {
  const peers = changesOf(before.peers.changesTo(after.peers, sha256));
  const resources = changesOf(before.resources.changesTo(after.resources, sha256));
  const destinations = changesOf(before.destinations.changesTo(after.destinations, sha256));
  const classes = classChanges(before, after, sha256);
  const isSame = canonicalJson(before.settings) === canonicalJson(after.settings);
  return {
    ...(isSame ? {} : { settings: after.settings }),
    ...(peers === undefined ? {} : { peers }),
    ...(classes === undefined ? {} : { classes }),
    ...(resources === undefined ? {} : { resources }),
    ...(destinations === undefined ? {} : { destinations }),
  };
}

/** Applies a difference. The caller must compare the root of the result. */
export function applyDifference(tree: ContentTree, difference: ConfigurationDifference): ContentTree {
  const { classes = {} } = difference;
  const changed = Object.entries(classes.change ?? {}).map(
    ([key, change]): [string, HashTree<Membership> | undefined] => {
      const members = applyChanges(tree.classes.get(key) ?? HashTree.empty, change);
      return [key, members.size === 0 ? undefined : members];
    },
  );
  const removed = (classes.remove ?? []).map((key): [string, undefined] => [key, undefined]);
  return {
    settings: difference.settings ?? tree.settings,
    peers: applyChanges(tree.peers, difference.peers),
    classes: tree.classes.with([...removed, ...changed]),
    resources: applyChanges(tree.resources, difference.resources),
    destinations: applyChanges(tree.destinations, difference.destinations),
  };
}

interface Changes<Value> {
  readonly put?: Readonly<Record<string, Value>>;
  readonly remove?: readonly string[];
}

function applyChanges<Value>(tree: HashTree<Value>, { put = {}, remove = [] }: Changes<Value> = {}): HashTree<Value> {
  const removed = remove.map((key): [string, undefined] => [key, undefined]);
  return tree.with([...removed, ...Object.entries(put)]);
}

function changesOf<Value>({ put, remove }: TreeChanges<Value>): Changes<Value> | undefined {
  if (put.length === 0 && remove.length === 0) return undefined;
  return {
    ...(put.length === 0 ? {} : { put: Object.fromEntries(put) }),
    ...(remove.length === 0 ? {} : { remove }),
  };
}

function classChanges(
  before: ContentTree,
  after: ContentTree,
  sha256: HashText,
): ConfigurationDifference["classes"] | undefined {
  const { put, remove } = before.classes.changesTo(after.classes, sha256);
  if (put.length === 0 && remove.length === 0) return undefined;
  const change = put.flatMap(([key, members]) => {
    const changes = changesOf((before.classes.get(key) ?? empty).changesTo(members, sha256));
    return changes === undefined ? [] : [[key, changes] as const];
  });
  return {
    ...(remove.length === 0 ? {} : { remove: [...remove] }),
    ...(change.length === 0 ? {} : { change: Object.fromEntries(change) }),
  };
}

const empty: HashTree<Membership> = HashTree.empty;
