import { ByteColumn } from "./columns.ts";
import { type ChangeSet, differentChanges } from "./level-changes.ts";
import { withBits } from "./level-states.ts";
import type { PolicyChain } from "./policy-chain.ts";
import type { SubjectGroup } from "./subject-group.ts";
import { type ChangedSubjects, SubjectTally } from "./subject-tally.ts";
import type { UserScratch } from "./user-scratch.ts";

/**
 * Corrects the counts for classes of destinations that several entries of a user name. For these classes the counts of
 * `EntryPass` overlap, so this pass removes them and counts the result of all entries together.
 */
export class SharedPass {
  readonly #chain: PolicyChain;
  readonly #tally: SubjectTally;
  /** 1 for classes with any count. */
  readonly #isCounted: ByteColumn;

  constructor(chain: PolicyChain) {
    this.#chain = chain;
    this.#tally = new SubjectTally(chain.classes.length);
    this.#isCounted = new ByteColumn(chain.classes.length);
  }

  /** @param baseChanges the base changes of all groups */
  count(groups: readonly SubjectGroup[], baseChanges: ChangeSet, scratch: UserScratch): void {
    this.#removeUsers(baseChanges, scratch);
    for (const group of groups) this.#removeSubjects(group, scratch);
    for (const index of scratch.sharedClasses.items) this.#countClass(index, groups, baseChanges);
  }

  isCounted(classIndex: number): boolean {
    return this.#isCounted.get(classIndex) === 1;
  }

  addTo(sum: ChangedSubjects, classIndex: number, change: number): void {
    this.#tally.addTo(sum, classIndex, change);
  }

  /** Removes the user counts of `EntryPass`. */
  #removeUsers(baseChanges: ChangeSet, scratch: UserScratch): void {
    const { namedClasses } = this.#chain;
    for (const position of scratch.positions.items) {
      const changes = scratch.changesOf(position);
      if (differentChanges(changes, baseChanges) === 0) continue;
      const end = namedClasses.end(position);
      for (let at = namedClasses.start(position); at < end; at += 1) {
        const index = namedClasses.get(at);
        if (scratch.isShared(index)) this.#tally.moveUser(index, changes, baseChanges);
      }
    }
  }

  /** Removes the subject counts of `EntryPass`, and joins the states of a group's entries by class. */
  #removeSubjects(group: SubjectGroup, scratch: UserScratch): void {
    const { positions, states, changes, sharedStates, baseChange, counted } = group;
    const { namedClasses, classSizes } = this.#chain;
    for (let next = 0; next < positions.length; next += 1) {
      const position = positions.get(next);
      const change = changes.get(next);
      const end = namedClasses.end(position);
      for (let at = namedClasses.start(position); at < end; at += 1) {
        const index = namedClasses.get(at);
        if (!scratch.isShared(index)) continue;
        sharedStates.set(index, withBits(sharedStates.get(index), states.get(next)));
        if (change === baseChange) continue;
        this.#tally.moveSubjects(index, change, baseChange, counted);
        group.moveDestinations(change, baseChange, classSizes.get(index));
      }
    }
  }

  #countClass(index: number, groups: readonly SubjectGroup[], baseChanges: ChangeSet): void {
    this.#isCounted.set(index, 1);
    const destinations = this.#chain.classSizes.get(index);
    let changes: ChangeSet = 0;
    for (const group of groups) {
      const change = group.changeFrom(group.sharedStates.get(index));
      group.sharedStates.set(index, 0);
      changes |= 1 << change;
      this.#tally.moveSubjects(index, group.baseChange, change, group.counted);
      group.moveDestinations(group.baseChange, change, destinations);
    }
    this.#tally.moveUser(index, baseChanges, changes);
  }
}
