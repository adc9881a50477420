import type { ChangeSet } from "./level-changes.ts";
import type { SubjectGroup } from "./subject-group.ts";
import { type ChangedSubjects, SubjectTally } from "./subject-tally.ts";

const row = 0;

/** Counts the change of level that each group has for all destinations, as if no entry named any of them. */
export class BasePass {
  readonly #tally = new SubjectTally(1);

  /** @returns the base changes of all groups */
  count(groups: readonly SubjectGroup[]): ChangeSet {
    let changes: ChangeSet = 0;
    for (const { baseChange, counted } of groups) {
      changes |= 1 << baseChange;
      this.#tally.moveSubjects(row, 0, baseChange, counted);
    }
    this.#tally.moveUser(row, 0, changes);
    return changes;
  }

  addTo(sum: ChangedSubjects, change: number): void {
    this.#tally.addTo(sum, row, change);
  }
}
