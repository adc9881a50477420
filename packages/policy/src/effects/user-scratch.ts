import { ByteColumn, IntColumn, NumberList, type NumberLists } from "./columns.ts";
import type { ChangeSet } from "./level-changes.ts";
import type { PolicyChain } from "./policy-chain.ts";

/**
 * Working memory of the passes for the current user. The columns are as long as the chain and are never cleared: a
 * value counts only if its stamp is the number of the current user. Starting the next user therefore takes constant
 * time.
 */
export class UserScratch {
  /** Positions of the entries that set bits for any group of the user. */
  readonly positions = new NumberList();
  /** Indexes of the classes that several of these entries name. */
  readonly sharedClasses = new NumberList();
  #user = 0;
  readonly #entryStamps: IntColumn;
  /** By entry, the changes of level that the entry makes for any group. */
  readonly #entryChanges: ByteColumn;
  /** By entry, the number of groups for which the entry sets bits. */
  readonly #entryGroups: IntColumn;
  readonly #classStamps: IntColumn;
  readonly #sharedStamps: IntColumn;
  readonly #namedClasses: NumberLists;

  constructor({ entries: { length: entries }, classes: { length: classes }, namedClasses }: PolicyChain) {
    this.#namedClasses = namedClasses;
    this.#entryStamps = new IntColumn(entries);
    this.#entryChanges = new ByteColumn(entries);
    this.#entryGroups = new IntColumn(entries);
    this.#classStamps = new IntColumn(classes);
    this.#sharedStamps = new IntColumn(classes);
  }

  /** Forgets the previous user. */
  start(): void {
    this.#user += 1;
    this.positions.clear();
    this.sharedClasses.clear();
  }

  /** Records the change of level that an entry makes for one group. */
  recordEntry(position: number, change: number): void {
    if (this.#entryStamps.get(position) !== this.#user) {
      this.#entryStamps.set(position, this.#user);
      this.#entryChanges.set(position, 0);
      this.#entryGroups.set(position, 0);
      this.positions.push(position);
      this.#recordClasses(position);
    }
    this.addChanges(position, 1 << change);
    this.#entryGroups.add(position, 1);
  }

  addChanges(position: number, changes: ChangeSet): void {
    this.#entryChanges.set(position, this.#entryChanges.get(position) | changes);
  }

  /** The changes recorded for an entry. The entry must be in `positions`. */
  changesOf(position: number): ChangeSet {
    return this.#entryChanges.get(position);
  }

  /** The number of groups recorded for an entry. The entry must be in `positions`. */
  groupsOf(position: number): number {
    return this.#entryGroups.get(position);
  }

  /** Whether several entries in `positions` name a class. */
  isShared(classIndex: number): boolean {
    return this.#sharedStamps.get(classIndex) === this.#user;
  }

  #recordClasses(position: number): void {
    const classes = this.#namedClasses;
    const end = classes.end(position);
    for (let at = classes.start(position); at < end; at += 1) {
      const index = classes.get(at);
      if (this.#classStamps.get(index) !== this.#user) this.#classStamps.set(index, this.#user);
      else if (!this.isShared(index)) {
        this.#sharedStamps.set(index, this.#user);
        this.sharedClasses.push(index);
      }
    }
  }
}
