import { IntColumn, NumberList, type NumberLists } from "./columns.ts";
import type { ChangeSet } from "./level-changes.ts";
import type { PolicyChain } from "./policy-chain.ts";

/** The end of a list of uses. */
export const noUse = -1;

/** Numbering starts again after this number of entries. A user has fewer entries, so 31 bits suffice. */
const mostNumbered = 2 ** 30;

/**
 * The entries that set bits for any subject of the current user, and the classes that several of them name. The entries
 * of such a class form a linked list of *uses*, in the order in which the entries were added.
 *
 * The columns are as long as the chain and are not cleared for a user: the numbers of entries tell which belong to the
 * current user.
 */
export class EffectiveEntries {
  readonly #namedClasses: NumberLists;
  /** The number of entries of all previous users. */
  #previous = 0;
  /** The index of each entry in the positions of the user, and its changes of level for any subject. */
  readonly #indexes = new NumberList();
  readonly #changes = new NumberList();
  /** Indexes of the classes that several entries name. */
  readonly sharedClasses = new NumberList();
  /** The number of the first entry that names each class, counted from 1 over all users. */
  readonly #firstEntries: IntColumn;
  /** The first and the last use of each class in `sharedClasses`. The last use is `noUse` for all other classes. */
  readonly #firstUses: IntColumn;
  readonly #lastUses: IntColumn;
  /** The entry of each use, and the next use of the same class. */
  readonly #entryOf = new NumberList();
  readonly #nextUse = new NumberList();

  constructor({ classes: { length }, namedClasses }: PolicyChain) {
    this.#namedClasses = namedClasses;
    this.#firstEntries = new IntColumn(length);
    this.#firstUses = new IntColumn(length);
    this.#lastUses = new IntColumn(length);
    this.#lastUses.fill(noUse);
  }

  /** Forgets the previous user. */
  start(): void {
    this.#previous += this.#indexes.length;
    if (this.#previous > mostNumbered) {
      this.#previous = 0;
      this.#firstEntries.fill(0);
    }
    for (let next = 0; next < this.sharedClasses.length; next += 1) {
      this.#lastUses.set(this.sharedClasses.get(next), noUse);
    }
    this.#indexes.clear();
    this.#changes.clear();
    this.sharedClasses.clear();
    this.#entryOf.clear();
    this.#nextUse.clear();
  }

  /** @param index the index of the position among the positions of the user */
  add(index: number, position: number, changes: ChangeSet): void {
    this.#indexes.push(index);
    this.#changes.push(changes);
    // Local variables, because this loop runs for every class that an entry of a user names.
    const classes = this.#namedClasses;
    const firstEntries = this.#firstEntries;
    const previous = this.#previous;
    const end = classes.end(position);
    const number = previous + this.#indexes.length;
    for (let at = classes.start(position); at < end; at += 1) {
      const classIndex = classes.get(at);
      const first = firstEntries.get(classIndex);
      if (first > previous) this.#share(classIndex, first, number);
      else firstEntries.set(classIndex, number);
    }
  }

  /** The first use of a class in `sharedClasses`. */
  firstUse(classIndex: number): number {
    return this.#firstUses.get(classIndex);
  }

  /** The use of the same class by the next entry, or `noUse`. */
  nextUse(use: number): number {
    return this.#nextUse.get(use);
  }

  /** The index of a use's entry among the positions of the user. */
  indexOf(use: number): number {
    return this.#indexes.get(this.#entryOf.get(use));
  }

  /** The changes of level that the entry of a use makes for any subject. */
  changesOf(use: number): ChangeSet {
    return this.#changes.get(this.#entryOf.get(use));
  }

  #share(classIndex: number, first: number, number: number): void {
    let last = this.#lastUses.get(classIndex);
    if (last === noUse) {
      this.sharedClasses.push(classIndex);
      last = this.#addUse(first);
      this.#firstUses.set(classIndex, last);
    }
    const use = this.#addUse(number);
    this.#nextUse.set(last, use);
    this.#lastUses.set(classIndex, use);
  }

  #addUse(number: number): number {
    this.#entryOf.push(number - this.#previous - 1);
    this.#nextUse.push(noUse);
    return this.#entryOf.length - 1;
  }
}
