/**
 * Counts the subjects whose access changes, for all destinations of one policy chain. `docs/access-impact.md` describes
 * the design with a worked example; this is a summary.
 *
 * The naive algorithm decides every pair of subject and destination in both models. A tenant with 100,000 users and
 * 10,000 resources has a billion pairs. Three observations avoid them:
 *
 * 1. One evaluation serves both models. A state (`level-states.ts`) holds the bits of the model before the change and
 *    those of the model after it, and the chain contains the policies of both.
 * 2. A user's policies name few destinations. All other destinations share one state, the base.
 * 3. Destinations that the same policies name are equivalent, so they are counted as one class.
 *
 * For each user, the comparison groups the user's subjects by the steps that the chain takes for them, and evaluates
 * each group once. Three passes then add the result to tallies:
 *
 * - `BasePass` counts the base change for all destinations of the chain.
 * - `EntryPass` counts, per entry, the difference to the base for the destinations that the entry names. It assumes
 *   that no other entry of the user names them.
 * - `SharedPass` corrects the classes for which that assumption is wrong.
 *
 * The changes about a class are the sum of its base row, the rows of the entries that name it, and its own row.
 *
 * Example: "everyone: always denied before, allowed after a change" gives each user the base change "never to always".
 * If an entry denies user A the resource R in both models, `EntryPass` moves A from "never to always" to "no change" in
 * the row of that entry. The counts of R are then the base row plus the row of the entry: all users except A.
 *
 * Time per user is proportional to the entries that apply to the user and to the classes that these entries share, not
 * to the number of destinations, policies or pairs.
 */

import type { Work } from "../work.ts";
import { BasePass } from "./base-pass.ts";
import { EntryPass } from "./entry-pass.ts";
import { type ChangeSet, changeCount } from "./level-changes.ts";
import { classAt, type PolicyChain } from "./policy-chain.ts";
import type { RuleCertainties } from "./rule-certainties.ts";
import { SharedPass } from "./shared-pass.ts";
import { StepReader } from "./step-reader.ts";
import { type ComparedSubject, haveSameSteps, SubjectGroup } from "./subject-group.ts";
import { type ChangedSubjects, noSubjects } from "./subject-tally.ts";
import { UserScratch } from "./user-scratch.ts";

export class ChainComparison {
  readonly chain: PolicyChain;
  readonly #steps: StepReader;
  readonly #basePass = new BasePass();
  readonly #entryPass: EntryPass;
  readonly #sharedPass: SharedPass;
  readonly #scratch: UserScratch;
  /** Reused objects. The number is the largest number of groups of a user. */
  readonly #groups: SubjectGroup[] = [];

  constructor(chain: PolicyChain, certainties: RuleCertainties) {
    this.chain = chain;
    this.#steps = new StepReader(chain, certainties);
    this.#entryPass = new EntryPass(chain);
    this.#sharedPass = new SharedPass(chain);
    this.#scratch = new UserScratch(chain);
  }

  /**
   * Counts the changes of access of one user or site, and marks the subjects that gain or lose any.
   *
   * @param subjects all subjects of the user, or one site
   */
  *compare(subjects: readonly ComparedSubject[]): Work<void> {
    const scratch = this.#scratch;
    scratch.start();
    const groups = yield* this.#grouped(subjects);
    for (const group of groups) group.evaluate(this.chain);
    const baseChanges: ChangeSet = this.#basePass.count(groups);
    this.#entryPass.count(groups, baseChanges, scratch);
    if (scratch.sharedClasses.length > 0) this.#sharedPass.count(groups, baseChanges, scratch);
    for (const { gained, lost, subjects: members } of groups) {
      for (const subject of members) {
        if (gained > 0) subject.gains = true;
        if (lost > 0) subject.loses = true;
      }
    }
  }

  /** The changes about destinations that no entry changes, by change code. */
  baseChanges(): readonly ChangedSubjects[] {
    return sums((sum, change) => this.#basePass.addTo(sum, change));
  }

  /** The changes about the destinations of a class, by change code. Undefined if they equal the base changes. */
  changesOf(classIndex: number): readonly ChangedSubjects[] | undefined {
    const { positions } = classAt(this.chain, classIndex);
    const counted = positions.filter((position) => this.#entryPass.isCounted(position));
    if (counted.length === 0 && !this.#sharedPass.isCounted(classIndex)) return undefined;
    return sums((sum, change) => {
      this.#basePass.addTo(sum, change);
      this.#sharedPass.addTo(sum, classIndex, change);
      for (const position of counted) this.#entryPass.addTo(sum, position, change);
    });
  }

  *#grouped(subjects: readonly ComparedSubject[]): Work<readonly SubjectGroup[]> {
    const groups: SubjectGroup[] = [];
    for (const subject of subjects) {
      const group = this.#groupAt(groups.length);
      yield* this.#steps.read(group, subject);
      const same = groups.find((other) => haveSameSteps(other, group));
      if (same !== undefined) {
        same.subjects.push(subject);
        continue;
      }
      group.subjects.length = 0;
      group.subjects.push(subject);
      groups.push(group);
    }
    return groups;
  }

  #groupAt(index: number): SubjectGroup {
    let group = this.#groups[index];
    if (group === undefined) {
      group = new SubjectGroup(this.chain.classes.length);
      this.#groups[index] = group;
    }
    return group;
  }
}

function sums(add: (sum: ChangedSubjects, change: number) => void): readonly ChangedSubjects[] {
  return Array.from({ length: changeCount }, (_, change) => {
    const sum = noSubjects();
    if (change !== 0) add(sum, change);
    return sum;
  });
}
