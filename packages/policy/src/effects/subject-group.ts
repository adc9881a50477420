import type { Model } from "../model/model.ts";
import { ByteColumn, NumberList } from "./columns.ts";
import { changeIn, isGain, isLoss } from "./level-changes.ts";
import { isDone, maskOf, stateCount, withBits } from "./level-states.ts";
import type { PolicyChain } from "./policy-chain.ts";
import type { RuleSubject } from "./rule-certainties.ts";
import type { CountedSubjects } from "./subject-tally.ts";

/** A user, with or without a device, or a site, as it exists in one model. */
export interface PrincipalState extends RuleSubject {
  readonly model: Model;
  /** Ids of the user's groups, which may include missing ones. */
  readonly groupIds: readonly string[];
  /** Identifies the user in one model: equal for all devices of the user, never 0 and never reused. */
  readonly key: number;
}

/** A subject whose access is compared. */
export interface ComparedSubject {
  /** Undefined if the subject may reach nothing in the model before the change. */
  readonly before: PrincipalState | undefined;
  /** Undefined if the subject may reach nothing in the model after the change. */
  readonly after: PrincipalState | undefined;
  readonly isDevice: boolean;
  readonly fingerprintA: number;
  readonly fingerprintB: number;
  gains: boolean;
  loses: boolean;
}

/**
 * Subjects of one user for which the chain takes the same steps, and the result of these steps. Most users form a
 * single group: their devices differ only if a policy names a device or a rule reads it. Groups are reused from one
 * user to the next.
 */
export class SubjectGroup {
  /** The entries that set bits, in the order of evaluation; see `stepOf`. */
  readonly steps = new NumberList();
  /** The models in which the subjects may reach anything. */
  sides = 0;
  readonly subjects: ComparedSubject[] = [];
  counted: CountedSubjects = { subjects: 0, devices: 0, fingerprintA: 0, fingerprintB: 0 };
  /** The final state of every destination that no entry names, and its change of level. */
  baseState = 0;
  baseChange = 0;
  /** Positions of the entries that set bits for the destinations that they name, in ascending order. */
  readonly positions = new NumberList();
  /** For each of these positions, the state that the entry leaves if no other entry names the destination. */
  readonly states = new NumberList();
  /** For each of these positions, the change of level in the final state. */
  readonly changes = new NumberList();
  /** By class, the state of destinations that several entries name. 0 except during `SharedPass`. */
  readonly sharedStates: ByteColumn;
  /** The numbers of destinations that the subjects gain and lose. */
  gained = 0;
  lost = 0;

  constructor(classes: number) {
    this.sharedStates = new ByteColumn(classes);
  }

  /** Evaluates the steps, once for the destinations that no entry names, and once for those of each entry. */
  evaluate({ everywhere, fallbackBits, destinationCount }: PolicyChain): void {
    this.positions.clear();
    this.states.clear();
    this.changes.clear();
    let base = 0;
    for (const step of this.steps.items) {
      const position = positionOf(step);
      const state = withBits(base, bitsOf(step));
      if (state === base) continue;
      if (everywhere.get(position) === 0) {
        // The policies for every destination that come earlier apply to the named destinations too.
        this.positions.push(position);
        this.states.push(state);
        continue;
      }
      base = state;
      if (isDone(base)) break;
    }
    this.baseState = withBits(base, fallbackBits & maskOf(this.sides));
    this.baseChange = changeIn(this.baseState);
    for (const state of this.states.items) this.changes.push(this.changeFrom(state));
    this.counted = countSubjects(this.subjects);
    this.gained = isGain(this.baseChange) ? destinationCount : 0;
    this.lost = isLoss(this.baseChange) ? destinationCount : 0;
  }

  /** The change of level of a destination whose own state is completed by the base. */
  changeFrom(state: number): number {
    return changeIn(withBits(state, this.baseState));
  }

  /** Counts destinations under another change of level than before. */
  moveDestinations(from: number, to: number, destinations: number): void {
    if (isGain(from)) this.gained -= destinations;
    else if (isLoss(from)) this.lost -= destinations;
    if (isGain(to)) this.gained += destinations;
    else if (isLoss(to)) this.lost += destinations;
  }
}

/** A step as one number: the position of an entry, and the bits that the entry sets. Steps sort by position. */
export function stepOf(position: number, bits: number): number {
  return position * stateCount + bits;
}

function positionOf(step: number): number {
  return Math.floor(step / stateCount);
}

function bitsOf(step: number): number {
  return step & (stateCount - 1);
}

/** Sorts the steps of both models, and merges two steps of the same entry. */
export function joinSteps(steps: NumberList): void {
  steps.sort();
  let length = 0;
  for (const step of steps.items) {
    const last = length === 0 ? undefined : steps.get(length - 1);
    if (last !== undefined && positionOf(last) === positionOf(step)) {
      steps.set(length - 1, stepOf(positionOf(step), bitsOf(last) | bitsOf(step)));
    } else {
      steps.set(length, step);
      length += 1;
    }
  }
  steps.truncate(length);
}

/** Whether the chain does the same for two groups. */
export function haveSameSteps(one: SubjectGroup, other: SubjectGroup): boolean {
  const length = one.steps.length;
  if (one.sides !== other.sides || other.steps.length !== length) return false;
  for (let index = 0; index < length; index += 1) if (one.steps.get(index) !== other.steps.get(index)) return false;
  return true;
}

function countSubjects(subjects: readonly ComparedSubject[]): CountedSubjects {
  let devices = 0;
  let fingerprintA = 0;
  let fingerprintB = 0;
  for (const subject of subjects) {
    if (subject.isDevice) devices += 1;
    fingerprintA ^= subject.fingerprintA;
    fingerprintB ^= subject.fingerprintB;
  }
  return { subjects: subjects.length, devices, fingerprintA, fingerprintB };
}
