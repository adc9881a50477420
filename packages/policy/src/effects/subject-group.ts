import type { Model } from "../model/model.ts";
import type { CountedSubjects } from "./difference-tally.ts";
import { isGain } from "./level-states.ts";
import type { RuleSubject } from "./rule-certainties.ts";

/** A user, or a site, in one model. */
export interface PrincipalState extends RuleSubject {
  readonly model: Model;
  /** Ids of the user's groups; those that there are not may be among them. */
  readonly groupIds: readonly string[];
  /** The same for all devices of a user in one model; not 0, and never used again. */
  readonly key: number;
}

/** Somebody whose access is compared. */
export interface ComparedSubject {
  /** As it is in the models where it may reach anything. */
  readonly before: PrincipalState | undefined;
  readonly after: PrincipalState | undefined;
  readonly isDevice: boolean;
  readonly fingerprintA: number;
  readonly fingerprintB: number;
  gains: boolean;
  loses: boolean;
}

/** Subjects of one user about whom the policies of a chain are all of the same opinion. */
export class SubjectGroup {
  /** What the policies do, one after the other: the place of an entry with the bits that it sets. */
  readonly steps: number[] = [];
  /** The sides on which the subjects may reach anything. */
  sides = 0;
  readonly members: ComparedSubject[] = [];
  counted: CountedSubjects = { subjects: 0, devices: 0, fingerprintA: 0, fingerprintB: 0 };
  /** The state of destinations that no entry names, and the change of level that it is. */
  base = 0;
  code = 0;
  /** The entries that set something for the destinations that they name, in order, with the state of those that no other names. */
  readonly places: number[] = [];
  readonly states: number[] = [];
  /** And the change of level that such a destination has in the end. */
  readonly codes: number[] = [];
  /** By class, the state so far of those that several entries name; 0 for all others. */
  readonly shared: Uint8Array;
  /** How many destinations are gained and lost. */
  gained = 0;
  lost = 0;

  constructor(classes: number) {
    this.shared = new Uint8Array(classes);
  }

  /** Counts destinations whose change is another than was counted. */
  recount(from: number, to: number, destinations: number): void {
    if (isGain(from)) this.gained -= destinations;
    else if (from !== 0) this.lost -= destinations;
    if (isGain(to)) this.gained += destinations;
    else if (to !== 0) this.lost += destinations;
  }
}

/** A step is the place of an entry and, below that, the bits that it sets. */
export const bitsOfStep = 64;

/** Puts the steps of both models in order; where they are of the same entry, into one. */
export function joinSteps(steps: number[]): void {
  steps.sort((a, b) => a - b);
  let kept = 0;
  for (let index = 0; index < steps.length; index += 1) {
    const step = steps[index] ?? 0;
    const last = kept === 0 ? -1 : (steps[kept - 1] ?? -1);
    if (last >= 0 && Math.floor(last / bitsOfStep) === Math.floor(step / bitsOfStep)) {
      steps[kept - 1] = last - (last % bitsOfStep) + ((last | step) & (bitsOfStep - 1));
    } else {
      steps[kept] = step;
      kept += 1;
    }
  }
  steps.length = kept;
}

/** Whether the policies do the same about two. */
export function isSame(one: SubjectGroup, other: SubjectGroup): boolean {
  if (one.sides !== other.sides || one.steps.length !== other.steps.length) return false;
  for (let index = 0; index < one.steps.length; index += 1) if (one.steps[index] !== other.steps[index]) return false;
  return true;
}

export function countedSubjects(members: readonly ComparedSubject[]): CountedSubjects {
  let devices = 0;
  let fingerprintA = 0;
  let fingerprintB = 0;
  for (const member of members) {
    if (member.isDevice) devices += 1;
    fingerprintA ^= member.fingerprintA;
    fingerprintB ^= member.fingerprintB;
  }
  return { subjects: members.length, devices, fingerprintA, fingerprintB };
}
