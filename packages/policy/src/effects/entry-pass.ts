import { ByteColumn } from "./columns.ts";
import type { ChangeSet } from "./level-changes.ts";
import type { PolicyChain } from "./policy-chain.ts";
import type { SubjectGroup } from "./subject-group.ts";
import { type ChangedSubjects, SubjectTally } from "./subject-tally.ts";
import type { UserScratch } from "./user-scratch.ts";

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

  /** @param baseChanges the base changes of all groups */
  count(groups: readonly SubjectGroup[], baseChanges: ChangeSet, scratch: UserScratch): void {
    for (const group of groups) this.#countGroup(group, scratch);
    for (const position of scratch.positions.items) {
      // Groups for which the entry sets nothing have their base change.
      if (scratch.groupsOf(position) !== groups.length) {
        for (const group of groups) {
          if (!group.positions.items.includes(position)) scratch.addChanges(position, 1 << group.baseChange);
        }
      }
      this.#tally.moveUser(position, baseChanges, scratch.changesOf(position));
    }
  }

  isCounted(position: number): boolean {
    return this.#isCounted.get(position) === 1;
  }

  addTo(sum: ChangedSubjects, position: number, change: number): void {
    this.#tally.addTo(sum, position, change);
  }

  #countGroup(group: SubjectGroup, scratch: UserScratch): void {
    const { positions, changes, baseChange, counted } = group;
    for (let index = 0; index < positions.length; index += 1) {
      const position = positions.get(index);
      const change = changes.get(index);
      scratch.recordEntry(position, change);
      if (change === baseChange) continue;
      this.#isCounted.set(position, 1);
      this.#tally.moveSubjects(position, baseChange, change, counted);
      group.moveDestinations(baseChange, change, this.#chain.namedDestinations.get(position));
    }
  }
}
