import { ByteColumn } from "./columns.ts";
import { type EffectiveEntries, noUse } from "./effective-entries.ts";
import type { ChangeSet } from "./level-changes.ts";
import { withBits } from "./level-states.ts";
import type { PolicyChain } from "./policy-chain.ts";
import type { SubjectUnit } from "./subject-group.ts";
import { type ChangedSubjects, SubjectTally } from "./subject-tally.ts";
import type { UserEntries } from "./user-entries.ts";
import type { UserSubjects } from "./user-subjects.ts";

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
  count(entries: UserEntries, subjects: UserSubjects, baseChanges: ChangeSet, effective: EffectiveEntries): void {
    const { sharedClasses } = effective;
    for (let next = 0; next < sharedClasses.length; next += 1) {
      const classIndex = sharedClasses.get(next);
      this.#isCounted.set(classIndex, 1);
      const first = effective.firstUse(classIndex);
      let isForAll = true;
      for (let use = first; use !== noUse; use = effective.nextUse(use)) {
        this.#tally.moveUser(classIndex, effective.changesOf(use), baseChanges);
        if (entries.hasRow(effective.indexOf(use))) isForAll = false;
      }
      let changes: ChangeSet = 0;
      for (const unit of isForAll ? subjects.groups : subjects.singles) {
        changes |= 1 << this.#countUnit(classIndex, unit, first, entries, effective);
      }
      this.#tally.moveUser(classIndex, baseChanges, changes);
    }
  }

  isCounted(classIndex: number): boolean {
    return this.#isCounted.get(classIndex) === 1;
  }

  addTo(sum: ChangedSubjects, classIndex: number, change: number): void {
    this.#tally.addTo(sum, classIndex, change);
  }

  /**
   * Removes the counts of `EntryPass`, and counts the result of all entries together.
   *
   * @param first the first use of the class
   * @returns the change of level by all entries
   */
  #countUnit(
    classIndex: number,
    unit: SubjectUnit,
    first: number,
    entries: UserEntries,
    effective: EffectiveEntries,
  ): number {
    const { group } = unit;
    const { baseChange } = group;
    const destinations = this.#chain.classSizes.get(classIndex);
    let joined = 0;
    for (let use = first; use !== noUse; use = effective.nextUse(use)) {
      const index = effective.indexOf(use);
      const state = group.stateAfter(index, entries.bitsFor(index, unit.subject));
      if (state === group.stateBefore(index)) continue;
      joined = withBits(joined, state);
      const change = group.changeFrom(state);
      if (change === baseChange) continue;
      this.#tally.moveSubjects(classIndex, change, baseChange, unit);
      unit.moveDestinations(change, baseChange, destinations);
    }
    const change = group.changeFrom(joined);
    this.#tally.moveSubjects(classIndex, baseChange, change, unit);
    unit.moveDestinations(baseChange, change, destinations);
    return change;
  }
}
