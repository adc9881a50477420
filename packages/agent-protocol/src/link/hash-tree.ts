import { canonicalJson, type JsonValue } from "./canonical-json.ts";
import { TextPiece } from "./text-piece.ts";

/** SHA-256 of a text's UTF-8, in lower-case hexadecimal. */
export type HashText = (text: string) => string;

/** A bucket with more entries becomes a branch. */
const mostInBucket = 16;
/** The bits of a key's position that each level uses, and the deepest level. */
const bitsOfLevel = 4;
const deepest = 8;
/** The most entries that are read, changed or hashed before steps yield. */
const entriesInStep = 200;
/** Changes are applied in the order of this many bits of their position, so that the changes of a step share nodes. */
const bitsOfParts = 8;

/** A computation in steps. It yields the number of entries that were processed since it last yielded. */
export type TreeSteps<Result> = Generator<number, Result, void>;

/** The hash and the JSON text of an entry that many trees contain. */
interface SharedEntry {
  readonly key: string;
  hash: string | undefined;
  text: TextPiece | undefined;
}

const sharedEntries = new WeakMap<object, SharedEntry>();

/**
 * Remembers the hash and the text of an entry with the value, for all trees that contain it under this key. Without
 * this, each tree computes them. The value must not change any more.
 */
export function shareEntry(key: string, value: object): void {
  if (sharedEntries.get(value)?.key !== key) sharedEntries.set(value, { key, hash: undefined, text: undefined });
}

function sharedEntry(key: string, value: unknown): SharedEntry | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const shared = sharedEntries.get(value);
  return shared?.key === key ? shared : undefined;
}

/** Entries in the order of their keys. */
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

  get isHashed(): boolean {
    return this.#hash !== undefined;
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

  get isHashed(): boolean {
    return this.#hash !== undefined;
  }

  hash(sha256: HashText): string {
    this.#hash ??= sha256(`t${this.children.map((child) => child.hash(sha256)).join(",")}`);
    return this.#hash;
  }
}

type Node<Value> = Bucket<Value> | Branch<Value>;
type Change<Value> = readonly [key: string, value: Value | undefined];

/** The changes from one tree to another. */
export interface TreeChanges<Value> {
  readonly put: readonly (readonly [key: string, value: Value])[];
  readonly remove: readonly string[];
}

/**
 * An immutable map with one hash. The hash depends on the entries only, not on the order of changes. Versions share
 * their common parts and hashes: a change costs a few hashes, and a comparison reads only what differs. Values are JSON
 * or trees.
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
    const position = positionOf(key);
    for (let level = 0; node instanceof Branch; level += 1) node = childOf(node, position, level);
    const index = node.keys.indexOf(key);
    return index < 0 ? undefined : node.values[index];
  }

  *entries(): IterableIterator<readonly [key: string, value: Value]> {
    yield* entriesOf(this.#node);
  }

  /** Returns the entries as an object. This is faster than reading `entries`, which matters for whole contents. */
  toRecord(): Record<string, Value> {
    const list: (readonly [string, Value])[] = [];
    collect(this.#node, list);
    return Object.fromEntries(list);
  }

  /** The texts of the entries for a JSON object, each after a comma. Values must be JSON. */
  *texts(): IterableIterator<TextPiece> {
    yield* textsOf(this.#node);
  }

  /** @param changes the new values; undefined removes a key. The last change of a key counts */
  with(changes: Iterable<Change<Value>>): HashTree<Value> {
    const last = new Map(changes);
    if (last.size === 0) return this;
    const positioned = Array.from(
      last,
      ([key, value]): Positioned<Value> => ({ key, value, position: positionOf(key) }),
    );
    const node = updated(this.#node, positioned, 0);
    return node === this.#node ? this : new HashTree(node);
  }

  /** Like `with`, in steps. */
  *changing(changes: ReadonlyMap<string, Value | undefined>): TreeSteps<HashTree<Value>> {
    if (changes.size <= entriesInStep) {
      yield changes.size;
      return this.with(changes);
    }
    const parts = Array.from({ length: 1 << bitsOfParts }, (): Positioned<Value>[] => []);
    let read = 0;
    for (const [key, value] of changes) {
      const position = positionOf(key);
      parts[position >>> (32 - bitsOfParts)]?.push({ key, value, position });
      read += 1;
      if (read % entriesInStep === 0) yield 0;
    }
    let node = this.#node;
    let step: Positioned<Value>[] = [];
    for (const part of parts) {
      for (let start = 0; start < part.length; start += entriesInStep) {
        step.push(...part.slice(start, start + entriesInStep));
        if (step.length < entriesInStep) continue;
        node = updated(node, step, 0);
        yield step.length;
        step = [];
      }
    }
    node = updated(node, step, 0);
    return node === this.#node ? this : new HashTree(node);
  }

  root(sha256: HashText): string {
    return this.#node.hash(sha256);
  }

  /** Computes the hashes of all nodes in steps, so that `root` and `changesTo` find them. */
  *hashing(sha256: HashText): TreeSteps<void> {
    let unpaid = 0;
    for (const node of unhashed(this.#node)) {
      for (const value of node instanceof Bucket ? node.values : []) {
        if (value instanceof HashTree) yield* value.hashing(sha256);
      }
      node.hash(sha256);
      unpaid += node instanceof Bucket ? node.size : node.children.length;
      if (unpaid < entriesInStep) continue;
      yield unpaid;
      unpaid = 0;
    }
    yield unpaid;
  }

  /** Returns the changes from this tree to another. The cost depends on the changes only. */
  changesTo(after: HashTree<Value>, sha256: HashText): TreeChanges<Value> {
    const put: (readonly [string, Value])[] = [];
    const remove: string[] = [];
    compare(this.#node, after.#node, sha256, put, remove);
    return { put, remove };
  }
}

interface Positioned<Value> {
  readonly key: string;
  readonly value: Value | undefined;
  readonly position: number;
}

function updated<Value>(node: Node<Value>, changes: readonly Positioned<Value>[], level: number): Node<Value> {
  if (node instanceof Bucket) {
    const entries = new Map(node.keys.map((key, index) => [key, node.values[index] as Value])); // there are as many values as keys
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
  const parts = new Map<number, Positioned<Value>[]>();
  for (const change of changes) {
    const index = indexAt(change.position, level);
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
  // The shape depends on the current entries only, as if none had ever been removed.
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
  for (const entry of entries) parts[indexAt(positionOf(entry[0]), level)]?.push(entry);
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
  const shared = sharedEntry(key, value);
  if (shared === undefined) return computedLeaf(key, value, sha256);
  shared.hash ??= computedLeaf(key, value, sha256);
  return shared.hash;
}

function computedLeaf(key: string, value: unknown, sha256: HashText): string {
  const content = value instanceof HashTree ? value.root(sha256) : (value as JsonValue); // trees hold JSON or trees
  return sha256(canonicalJson([key, content]));
}

function* entriesOf<Value>(node: Node<Value>): IterableIterator<readonly [string, Value]> {
  if (node instanceof Branch) for (const child of node.children) yield* entriesOf(child);
  else for (const [index, key] of node.keys.entries()) yield [key, node.values[index] as Value]; // there are as many values as keys
}

function collect<Value>(node: Node<Value>, list: (readonly [string, Value])[]): void {
  if (node instanceof Branch) {
    for (const child of node.children) collect(child, list);
    return;
  }
  for (const [index, key] of node.keys.entries()) list.push([key, node.values[index] as Value]); // as in entriesOf
}

/** The nodes without a hash, each after its children. */
function* unhashed<Value>(node: Node<Value>): IterableIterator<Node<Value>> {
  if (node.isHashed) return;
  if (node instanceof Branch) for (const child of node.children) yield* unhashed(child);
  yield node;
}

function* textsOf<Value>(node: Node<Value>): IterableIterator<TextPiece> {
  if (node instanceof Branch) {
    for (const child of node.children) yield* textsOf(child);
    return;
  }
  for (let index = 0; index < node.size; index += 1) {
    const key = node.keys[index] as string; // there are as many keys as entries
    const value = node.values[index];
    const shared = sharedEntry(key, value);
    const text = shared?.text ?? new TextPiece(`,${JSON.stringify(key)}:${JSON.stringify(value)}`);
    if (shared !== undefined) shared.text = text;
    yield text;
  }
}

function childOf<Value>(branch: Branch<Value>, position: number, level: number): Node<Value> {
  return childAt(branch, indexAt(position, level));
}

function childAt<Value>(branch: Branch<Value>, index: number): Node<Value> {
  return branch.children[index] as Node<Value>; // a branch has a child for each index
}

function indexAt(position: number, level: number): number {
  return (position >>> (32 - bitsOfLevel * (level + 1))) & ((1 << bitsOfLevel) - 1);
}

/** Returns the position of a key: FNV-1a over UTF-16 code units with a final mix. It need not resist inversion. */
function positionOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return (hash ^ (hash >>> 16)) >>> 0;
}
