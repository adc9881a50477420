import type { ChangeSet } from "./level-changes.ts";
import { type ChangedSubjects, SubjectTally } from "./subject-tally.ts";
import type { UserSubjects } from "./user-subjects.ts";

const row = 0;

/** Counts the change of level that each group has for all destinations, as if no entry named any of them. */
export class BasePass {
  readonly #tally = new SubjectTally(1);

  /** @returns the base changes of all groups */
  count({ groups }: UserSubjects): ChangeSet {
    let changes: ChangeSet = 0;
    for (const unit of groups) {
      const { baseChange } = unit.group;
      changes |= 1 << baseChange;
      this.#tally.moveSubjects(row, 0, baseChange, unit);
    }
    this.#tally.moveUser(row, 0, changes);
    return changes;
  }

  addTo(sum: ChangedSubjects, change: number): void {
    this.#tally.addTo(sum, row, change);
  }
}
