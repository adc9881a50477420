import { NumberList } from "./columns.ts";
import type { ComparedSubject } from "./compared-subject.ts";
import { changeIn, isGain, isLoss } from "./level-changes.ts";
import { afterSide, beforeSide, maskOf, withBits } from "./level-states.ts";
import type { PolicyChain } from "./policy-chain.ts";
import type { CountedSubjects } from "./subject-tally.ts";
import type { UserEntries } from "./user-entries.ts";

/** Subjects of one user that are counted together: a whole group, or a single subject. Reused from user to user. */
export class SubjectUnit implements CountedSubjects {
  /** The group of the subjects. */
  group: SubjectGroup;
  /** The index of one of the subjects. */
  subject = 0;
  subjects = 0;
  devices = 0;
  fingerprintA = 0;
  fingerprintB = 0;
  /** The numbers of destinations that the subjects gain and lose. For a single subject, added to those of its group. */
  gained = 0;
  lost = 0;

  constructor(group: SubjectGroup) {
    this.group = group;
  }

  start(group: SubjectGroup, subject: number): void {
    this.group = group;
    this.subject = subject;
    this.subjects = 0;
    this.devices = 0;
    this.fingerprintA = 0;
    this.fingerprintB = 0;
    this.gained = 0;
    this.lost = 0;
  }

  add({ isDevice, fingerprintA, fingerprintB }: ComparedSubject): void {
    this.subjects += 1;
    if (isDevice) this.devices += 1;
    this.fingerprintA ^= fingerprintA;
    this.fingerprintB ^= fingerprintB;
  }

  /** Counts destinations under another change of level than before. */
  moveDestinations(from: number, to: number, destinations: number): void {
    if (isGain(from)) this.gained -= destinations;
    else if (isLoss(from)) this.lost -= destinations;
    if (isGain(to)) this.gained += destinations;
    else if (isLoss(to)) this.lost += destinations;
  }
}

/**
 * Subjects of one user with the same base, which is the state of the destinations that no entry names. Most users form
 * a single group: the bases of their devices differ only if a policy for all destinations names a device or its rule
 * reads the device.
 */
export class SubjectGroup {
  readonly all = new SubjectUnit(this);
  /** The bits of the models in which the subjects may reach anything. */
  #mask = 0;
  /** The state that the policies for every destination leave before each entry, by the index of its position. */
  readonly #earlier = new NumberList();
  /** The final state of every destination that no entry names, and its change of level. */
  #baseState = 0;
  baseChange = 0;

  /** Empties the group. @param sides the models in which the subjects may reach anything */
  start(sides: number, subject: number): void {
    this.#mask = maskOf(sides);
    this.all.start(this, subject);
  }

  hasSides(sides: number): boolean {
    return this.#mask === maskOf(sides);
  }

  /** Evaluates the base. */
  evaluate({ everywhere, fallbackBits, destinationCount }: PolicyChain, entries: UserEntries): void {
    const { positions } = entries;
    const { all } = this;
    this.#earlier.clear();
    let base = 0;
    for (let index = 0; index < positions.length; index += 1) {
      const position = positions.get(index);
      this.#earlier.push(base);
      if (everywhere.get(position) === 1) base = withBits(base, entries.bitsFor(index, all.subject) & this.#mask);
    }
    this.#baseState = withBits(base, fallbackBits & this.#mask);
    this.baseChange = changeIn(this.#baseState);
    all.moveDestinations(0, this.baseChange, destinationCount);
  }

  /** The state that the policies for every destination leave before an entry. */
  stateBefore(index: number): number {
    return this.#earlier.get(index);
  }

  /** The state after an entry, of a destination that the entry names. */
  stateAfter(index: number, bits: number): number {
    return withBits(this.#earlier.get(index), bits & this.#mask);
  }

  /** The change of level of a destination whose own state is completed by the base. */
  changeFrom(state: number): number {
    return changeIn(withBits(state, this.#baseState));
  }
}

/** The models in which a subject may reach anything. */
export function sidesOf({ before, after }: ComparedSubject): number {
  return (before === undefined ? 0 : beforeSide) | (after === undefined ? 0 : afterSide);
}
