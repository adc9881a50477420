import type { ComparedSubject } from "./compared-subject.ts";
import type { PolicyChain } from "./policy-chain.ts";
import { SubjectGroup, SubjectUnit, sidesOf } from "./subject-group.ts";
import type { UserEntries } from "./user-entries.ts";

/** The subjects of one user that may reach anything in either model, with their groups. */
export class UserSubjects {
  /** Reused objects. The number is the largest number of groups, or of subjects, of a user. */
  readonly #groupPool: SubjectGroup[] = [];
  readonly #unitPool: SubjectUnit[] = [];
  readonly #groups: SubjectGroup[] = [];
  /** The groups as units, for entries that set the same bits for all subjects. */
  readonly groups: SubjectUnit[] = [];
  /** The subjects as units, for other entries. */
  readonly singles: SubjectUnit[] = [];

  /** Replaces the subjects by those of another user, and evaluates the base of each group. */
  read(subjects: readonly ComparedSubject[], chain: PolicyChain, entries: UserEntries): void {
    this.#groups.length = 0;
    this.groups.length = 0;
    this.singles.length = 0;
    for (let index = 0; index < subjects.length; index += 1) {
      const subject = subjects[index];
      const sides = subject === undefined ? 0 : sidesOf(subject);
      if (subject === undefined || sides === 0) continue;
      const group = this.#groupFor(sides, index, entries);
      group.all.add(subject);
      const single = this.#unitPool[this.singles.length] ?? new SubjectUnit(group);
      single.start(group, index);
      single.add(subject);
      this.#unitPool[this.singles.length] = single;
      this.singles.push(single);
    }
    for (const group of this.#groups) group.evaluate(chain, entries);
  }

  #groupFor(sides: number, subject: number, entries: UserEntries): SubjectGroup {
    for (const group of this.#groups) {
      if (group.hasSides(sides) && entries.haveSameBase(group.all.subject, subject)) return group;
    }
    const group = this.#groupPool[this.#groups.length] ?? new SubjectGroup();
    this.#groupPool[this.#groups.length] = group;
    group.start(sides, subject);
    this.#groups.push(group);
    this.groups.push(group.all);
    return group;
  }
}
