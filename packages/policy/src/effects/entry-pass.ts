import { ByteColumn } from "./columns.ts";
import type { EffectiveEntries } from "./effective-entries.ts";
import type { ChangeSet } from "./level-changes.ts";
import type { PolicyChain } from "./policy-chain.ts";
import { type ChangedSubjects, SubjectTally } from "./subject-tally.ts";
import type { UserEntries } from "./user-entries.ts";
import type { UserSubjects } from "./user-subjects.ts";

/**
 * Counts, for each entry, the difference to the base for every destination that the entry names, as if no other entry
 * named that destination. One count represents all destinations of the entry.
 */
export class EntryPass {
  readonly #chain: PolicyChain;
  readonly #tally: SubjectTally;
  /** 1 for entries with any count. */
  readonly #isCounted: ByteColumn;

  constructor(chain: PolicyChain) {
    this.#chain = chain;
    this.#tally = new SubjectTally(chain.entries.length);
    this.#isCounted = new ByteColumn(chain.entries.length);
  }

  /**
   * @param baseChanges the base changes of all groups
   * @param effective receives the entries that set bits for any subject
   */
  count(entries: UserEntries, subjects: UserSubjects, baseChanges: ChangeSet, effective: EffectiveEntries): void {
    const { positions } = entries;
    const { everywhere } = this.#chain;
    for (let index = 0; index < positions.length; index += 1) {
      const position = positions.get(index);
      if (everywhere.get(position) === 1) continue;
      const units = entries.hasRow(index) ? subjects.singles : subjects.groups;
      let isEffective = false;
      let changes: ChangeSet = 0;
      for (const unit of units) {
        const { group } = unit;
        const { baseChange } = group;
        const state = group.stateAfter(index, entries.bitsFor(index, unit.subject));
        if (state === group.stateBefore(index)) {
          changes |= 1 << baseChange;
          continue;
        }
        isEffective = true;
        const change = group.changeFrom(state);
        changes |= 1 << change;
        if (change === baseChange) continue;
        this.#isCounted.set(position, 1);
        this.#tally.moveSubjects(position, baseChange, change, unit);
        unit.moveDestinations(baseChange, change, this.#chain.namedDestinations.get(position));
      }
      if (!isEffective) continue;
      effective.add(index, position, changes);
      this.#tally.moveUser(position, baseChanges, changes);
    }
  }

  isCounted(position: number): boolean {
    return this.#isCounted.get(position) === 1;
  }

  addTo(sum: ChangedSubjects, position: number, change: number): void {
    this.#tally.addTo(sum, position, change);
  }
}
