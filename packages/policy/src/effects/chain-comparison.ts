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
 * For each user, the comparison finds the entries that apply, and groups the user's subjects by their base. Three
 * passes then add the result to tallies:
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

import { BasePass } from "./base-pass.ts";
import type { ComparedSubject } from "./compared-subject.ts";
import type { NumberedGroups } from "./compared-subjects.ts";
import { EffectiveEntries } from "./effective-entries.ts";
import { EntryPass } from "./entry-pass.ts";
import { changeCount } from "./level-changes.ts";
import { classAt, type PolicyChain } from "./policy-chain.ts";
import type { RuleCertainties } from "./rule-certainties.ts";
import { SharedPass } from "./shared-pass.ts";
import { type ChangedSubjects, noSubjects } from "./subject-tally.ts";
import { UserEntries } from "./user-entries.ts";
import { UserSubjects } from "./user-subjects.ts";

export class ChainComparison {
  readonly chain: PolicyChain;
  readonly #entries: UserEntries;
  #compared: readonly ComparedSubject[] = [];
  readonly #subjects = new UserSubjects();
  readonly #effective: EffectiveEntries;
  readonly #basePass = new BasePass();
  readonly #entryPass: EntryPass;
  readonly #sharedPass: SharedPass;

  /** @param groups undefined if users have no numbers */
  constructor(chain: PolicyChain, certainties: RuleCertainties, groups: NumberedGroups | undefined) {
    this.chain = chain;
    this.#entries = new UserEntries(chain, certainties, groups);
    this.#effective = new EffectiveEntries(chain);
    this.#entryPass = new EntryPass(chain);
    this.#sharedPass = new SharedPass(chain);
  }

  /**
   * Starts the comparison of one user or site.
   *
   * @param subjects all subjects of the user, starting with the user without a device, or one site
   */
  start(subjects: readonly ComparedSubject[]): void {
    this.#compared = subjects;
    this.#entries.start(subjects);
  }

  /**
   * Counts the changes of access, and marks the subjects that gain or lose any. Suspended when a time slice is spent.
   *
   * @returns whether the comparison is finished; otherwise, call again
   */
  proceed(): boolean {
    const isFinished = this.#entries.evaluate();
    if (isFinished) this.#count(this.#compared);
    return isFinished;
  }

  /** The units of cost since the last call. */
  takeSpent(): number {
    return this.#entries.takeSpent();
  }

  #count(subjects: readonly ComparedSubject[]): void {
    const entries = this.#entries;
    const counted = this.#subjects;
    const effective = this.#effective;
    counted.read(subjects, this.chain, entries);
    effective.start();
    const baseChanges = this.#basePass.count(counted);
    this.#entryPass.count(entries, counted, baseChanges, effective);
    this.#sharedPass.count(entries, counted, baseChanges, effective);
    for (const { subject: index, group, gained, lost } of counted.singles) {
      const subject = subjects[index];
      if (subject === undefined) continue;
      if (group.all.gained + gained > 0) subject.gains = true;
      if (group.all.lost + lost > 0) subject.loses = true;
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
}

function sums(add: (sum: ChangedSubjects, change: number) => void): readonly ChangedSubjects[] {
  return Array.from({ length: changeCount }, (_, change) => {
    const sum = noSubjects();
    if (change !== 0) add(sum, change);
    return sum;
  });
}
