import { canonicalJson, type JsonValue } from "./canonical-json.ts";

/** SHA-256 of a text's UTF-8, in lower-case hexadecimal. */
export type HashText = (text: string) => string;

/** Up to so many entries stand together; more are parted. */
const mostInBucket = 16;
/** Keys are parted by four bits of their place at each level, as far as these last. */
const bitsOfLevel = 4;
const deepest = 8;

/** Entries by key, ordered by it. */
class Bucket<Value> {
  readonly keys: readonly string[];
  readonly values: readonly Value[];
  readonly size: number;
  #hash: string | undefined;

  constructor(keys: readonly string[], values: readonly Value[]) {
    this.keys = keys;
    this.values = values;
    this.size = keys.length;
  }

  hash(sha256: HashText): string {
    this.#hash ??= sha256(`b${this.keys.map((key, index) => this.leaf(key, index, sha256)).join(",")}`);
    return this.#hash;
  }

  leaf(key: string, index: number, sha256: HashText): string {
    return leafOf(key, this.values[index], sha256);
  }
}

class Branch<Value> {
  readonly children: readonly Node<Value>[];
  readonly size: number;
  #hash: string | undefined;

  constructor(children: readonly Node<Value>[]) {
    this.children = children;
    this.size = children.reduce((sum, child) => sum + child.size, 0);
  }

  hash(sha256: HashText): string {
    this.#hash ??= sha256(`t${this.children.map((child) => child.hash(sha256)).join(",")}`);
    return this.#hash;
  }
}

type Node<Value> = Bucket<Value> | Branch<Value>;
type Change<Value> = readonly [key: string, value: Value | undefined];

/** What turns one tree into another. */
export interface TreeChanges<Value> {
  readonly put: readonly (readonly [key: string, value: Value])[];
  readonly remove: readonly string[];
}

/**
 * An immutable map from texts to values with one hash for all of it, which depends on the entries alone and never on how the map came
 * about. A changed map shares with the one before whatever did not change, hashes included: changing an entry costs a few hashes, however large
 * the map is, and what differs between two versions is found without looking at the rest. Values are JSON, or trees.
 */
export class HashTree<Value> {
  static readonly empty: HashTree<never> = new HashTree<never>(new Bucket<never>([], []));

  readonly #node: Node<Value>;

  private constructor(node: Node<Value>) {
    this.#node = node;
  }

  static of<Value>(entries: Iterable<readonly [key: string, value: Value]>): HashTree<Value> {
    const empty: HashTree<Value> = HashTree.empty;
    return empty.with(entries);
  }

  get size(): number {
    return this.#node.size;
  }

  get(key: string): Value | undefined {
    let node = this.#node;
    const place = placeOf(key);
    for (let level = 0; node instanceof Branch; level += 1) node = childOf(node, place, level);
    const index = node.keys.indexOf(key);
    return index < 0 ? undefined : node.values[index];
  }

  *entries(): IterableIterator<readonly [key: string, value: Value]> {
    yield* entriesOf(this.#node);
  }

  /** @param changes what keys have from now on; undefined takes a key out. Of several for a key, the last counts */
  with(changes: Iterable<Change<Value>>): HashTree<Value> {
    const last = new Map(changes);
    if (last.size === 0) return this;
    const placed = Array.from(last, ([key, value]): Placed<Value> => ({ key, value, place: placeOf(key) }));
    const node = updated(this.#node, placed, 0);
    return node === this.#node ? this : new HashTree(node);
  }

  root(sha256: HashText): string {
    return this.#node.hash(sha256);
  }

  /** What turns this tree into another. Costs what differs, not what there is. */
  changesTo(after: HashTree<Value>, sha256: HashText): TreeChanges<Value> {
    const put: (readonly [string, Value])[] = [];
    const remove: string[] = [];
    compare(this.#node, after.#node, sha256, put, remove);
    return { put, remove };
  }
}

interface Placed<Value> {
  readonly key: string;
  readonly value: Value | undefined;
  readonly place: number;
}

function updated<Value>(node: Node<Value>, changes: readonly Placed<Value>[], level: number): Node<Value> {
  if (node instanceof Bucket) {
    const entries = new Map(node.keys.map((key, index) => [key, node.values[index] as Value])); // as many values as keys
    let changed = false;
    for (const { key, value } of changes) {
      if (value === undefined) changed = entries.delete(key) || changed;
      else if (entries.get(key) !== value) {
        entries.set(key, value);
        changed = true;
      }
    }
    return changed ? built([...entries], level) : node;
  }
  const parts = new Map<number, Placed<Value>[]>();
  for (const change of changes) {
    const index = indexAt(change.place, level);
    const part = parts.get(index);
    if (part === undefined) parts.set(index, [change]);
    else part.push(change);
  }
  const children = [...node.children];
  for (const [index, part] of parts) {
    children[index] = updated(childAt(node, index), part, level + 1);
  }
  if (children.every((child, index) => child === node.children[index])) return node;
  const branch = new Branch(children);
  // The shape is that of the entries, as if none had ever been removed.
  return branch.size > mostInBucket ? branch : built([...entriesOf(branch)], level);
}

function built<Value>(entries: readonly (readonly [string, Value])[], level: number): Node<Value> {
  if (entries.length <= mostInBucket || level >= deepest) {
    const ordered = [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
    return new Bucket(
      ordered.map(([key]) => key),
      ordered.map(([, value]) => value),
    );
  }
  const parts = Array.from({ length: 1 << bitsOfLevel }, (): (readonly [string, Value])[] => []);
  for (const entry of entries) parts[indexAt(placeOf(entry[0]), level)]?.push(entry);
  return new Branch(parts.map((part) => built(part, level + 1)));
}

function compare<Value>(
  before: Node<Value>,
  after: Node<Value>,
  sha256: HashText,
  put: (readonly [string, Value])[],
  remove: string[],
): void {
  if (before === after || before.hash(sha256) === after.hash(sha256)) return;
  if (before instanceof Branch && after instanceof Branch) {
    for (const [index, child] of before.children.entries()) compare(child, childAt(after, index), sha256, put, remove);
    return;
  }
  const old = new Map(entriesOf(before));
  for (const [key, value] of entriesOf(after)) {
    const was = old.get(key);
    old.delete(key);
    const isSame = was !== undefined && (was === value || leafOf(key, was, sha256) === leafOf(key, value, sha256));
    if (!isSame) put.push([key, value]);
  }
  remove.push(...old.keys());
}

function leafOf(key: string, value: unknown, sha256: HashText): string {
  const content = value instanceof HashTree ? value.root(sha256) : (value as JsonValue); // trees hold JSON or trees
  return sha256(canonicalJson([key, content]));
}

function* entriesOf<Value>(node: Node<Value>): IterableIterator<readonly [string, Value]> {
  if (node instanceof Branch) for (const child of node.children) yield* entriesOf(child);
  else for (const [index, key] of node.keys.entries()) yield [key, node.values[index] as Value]; // as many values as keys
}

function childOf<Value>(branch: Branch<Value>, place: number, level: number): Node<Value> {
  return childAt(branch, indexAt(place, level));
}

function childAt<Value>(branch: Branch<Value>, index: number): Node<Value> {
  return branch.children[index] as Node<Value>; // a branch has a child for each index
}

function indexAt(place: number, level: number): number {
  return (place >>> (32 - bitsOfLevel * (level + 1))) & ((1 << bitsOfLevel) - 1);
}

/** Where a key belongs: 32 bits, FNV-1a over UTF-16 code units with a final mix. Nothing depends on its being hard to invert. */
function placeOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return (hash ^ (hash >>> 16)) >>> 0;
}
