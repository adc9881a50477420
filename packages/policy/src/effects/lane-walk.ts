import type { Model } from "../model/model.ts";
import { type ChangedSubjects, type CountedSubjects, SubjectTally } from "./difference-tally.ts";
import { changeCount, changeOf, doneInBoth, isGain, sideBits, touchedBit, undecidedBits } from "./level-states.ts";
import type { LaneEntry, PolicyLane } from "./policy-lane.ts";
import type { RuleCertainties, RuleSubject } from "./rule-certainties.ts";

/** A user, or a site, in one model. */
export interface Party extends RuleSubject {
  readonly model: Model;
  /** Ids of those of the user's groups that there are. */
  readonly groupIds: readonly string[];
  /** The same for all devices of a user in one model; not 0, and never used again. */
  readonly key: number;
}

/** Somebody whose access is compared. */
export interface ComparedSubject {
  /** As it is in the models where it may reach anything. */
  readonly before: Party | undefined;
  readonly after: Party | undefined;
  readonly isDevice: boolean;
  readonly mark: number;
  readonly otherMark: number;
  gains: boolean;
  loses: boolean;
}

/** Subjects of one user about whom the policies of a lane are all of the same opinion. */
class Variant {
  /** What the policies do, one after the other: the place of an entry with the bits that it sets. */
  readonly steps: number[] = [];
  /** The sides on which the subjects may reach anything. */
  sides = 0;
  readonly members: ComparedSubject[] = [];
  /** By class, the state so far of those that some policy named; 0 for the others. */
  readonly states: Uint8Array;
  base = 0;
  /** The change of level that the base is. */
  code = 0;
  counted: CountedSubjects = { subjects: 0, devices: 0, marks: 0, otherMarks: 0 };
  /** How many destinations are gained and lost. */
  gained = 0;
  lost = 0;

  constructor(classes: number) {
    this.states = new Uint8Array(classes);
  }
}

const bitsOfStep = 64;

/**
 * Goes through the policies of a lane for one user after the other, and counts whose level of access changes how. Users are taken
 * one by one rather than destinations, because most policies are about others, and what a user's policies name is little: all other
 * destinations get the user's base, which the policies for everywhere decide.
 */
export class LaneWalk {
  readonly lane: PolicyLane;
  readonly #certainties: RuleCertainties;
  /** Of all destinations, but for the corrections. */
  readonly #bases = new SubjectTally(1);
  /** Of each class, what differs from the bases. */
  readonly #corrections: SubjectTally;
  readonly #variants: Variant[] = [];
  readonly #places: number[] = [];
  /** What the rule of an entry gave, and for whom. */
  readonly #askedKeys: Int32Array;
  readonly #askedBits: Uint8Array;
  /** Classes that were touched for any variant of the user. */
  readonly #touched: Int32Array;
  readonly #stamps: Int32Array;
  #touchedCount = 0;
  #user = 0;

  constructor(lane: PolicyLane, certainties: RuleCertainties) {
    this.lane = lane;
    this.#certainties = certainties;
    const classes = lane.classes.length;
    this.#corrections = new SubjectTally(classes);
    this.#askedKeys = new Int32Array(lane.entries.length);
    this.#askedBits = new Uint8Array(lane.entries.length);
    this.#touched = new Int32Array(classes);
    this.#stamps = new Int32Array(classes);
  }

  /** @param subjects all of one user, or one site */
  compare(subjects: readonly ComparedSubject[]): void {
    this.#user += 1;
    this.#touchedCount = 0;
    const count = this.#vary(subjects);
    for (let index = 0; index < count; index += 1) this.#walk(this.#variant(index));
    this.#count(count);
  }

  /** Adds who changed to the sums of a class, by code of change. */
  addTo(sums: readonly ChangedSubjects[], classIndex: number): void {
    for (let code = 1; code < changeCount; code += 1) {
      const sum = sums[code];
      if (sum === undefined) continue;
      this.#bases.addTo(sum, code);
      this.#corrections.addTo(sum, classIndex * changeCount + code);
    }
  }

  #variant(index: number): Variant {
    let variant = this.#variants[index];
    if (variant === undefined) {
      variant = new Variant(this.lane.classes.length);
      this.#variants[index] = variant;
    }
    return variant;
  }

  /** Parts the subjects by what the policies do about them. @returns how many variants there are */
  #vary(subjects: readonly ComparedSubject[]): number {
    let count = 0;
    for (const subject of subjects) {
      const variant = this.#variant(count);
      this.#readSteps(variant, subject);
      let place = 0;
      while (place < count && !isSame(this.#variant(place), variant)) place += 1;
      if (place === count) {
        variant.members.length = 0;
        count += 1;
      }
      this.#variant(place).members.push(subject);
    }
    return count;
  }

  #readSteps(variant: Variant, { before, after }: ComparedSubject): void {
    variant.steps.length = 0;
    variant.sides = (before === undefined ? 0 : 1) | (after === undefined ? 0 : 2);
    if (before !== undefined && before === after) {
      this.#addSteps(variant.steps, before, 3);
      return;
    }
    if (before !== undefined) this.#addSteps(variant.steps, before, 1);
    if (after === undefined) return;
    this.#addSteps(variant.steps, after, 2);
    if (before !== undefined) variant.steps.sort((a, b) => a - b);
  }

  #addSteps(steps: number[], party: Party, sides: number): void {
    const { entries } = this.lane;
    const mask = sideBits[sides] ?? 0;
    for (const place of this.#placesFor(party)) {
      const entry = entries[place];
      if (entry === undefined) continue;
      const bits = this.#bitsOf(entry, place, party) & mask;
      if (bits !== 0) steps.push(place * bitsOfStep + bits);
    }
  }

  #bitsOf(entry: LaneEntry, place: number, party: Party): number {
    if (entry.rule === undefined) return entry.certainBits;
    // Devices of a user differ only to rules that ask about them.
    if (!entry.asksDevice && this.#askedKeys[place] === party.key) return this.#askedBits[place] ?? 0;
    const certainty = this.#certainties.of(entry.rule, party.model, party, entry.resource);
    const bits = certainty === "no" ? 0 : certainty === "yes" ? entry.certainBits : entry.possibleBits;
    this.#askedKeys[place] = party.key;
    this.#askedBits[place] = bits;
    return bits;
  }

  /** The places of all entries that apply to a party, in order. */
  #placesFor({ user, device, groupIds }: Party): readonly number[] {
    const { forAnyone, forAnyGroup, forAnyDevice, byUser, byGroup, byDevice } = this.lane;
    const places = this.#places;
    places.length = 0;
    addPlaces(places, forAnyone);
    if (user === undefined) return places;
    addPlaces(places, byUser.get(user.id));
    for (const id of groupIds) addPlaces(places, byGroup.get(id));
    if (groupIds.length > 0) addPlaces(places, forAnyGroup);
    if (device !== undefined) {
      addPlaces(places, forAnyDevice);
      addPlaces(places, byDevice.get(device.id));
    }
    return sortedOnce(places);
  }

  #walk(variant: Variant): void {
    const { entries, classStarts, namedClasses, fallbackBits } = this.lane;
    const { states, steps } = variant;
    const stamps = this.#stamps;
    let base = 0;
    for (const step of steps) {
      const place = (step / bitsOfStep) | 0;
      const bits = step & (bitsOfStep - 1) & (undecidedBits[base] ?? 0);
      if (bits === 0) continue;
      if (entries[place]?.everywhere === true) {
        base |= bits;
        if ((base & doneInBoth) === doneInBoth) break;
        continue;
      }
      // What the policies for everywhere decided so far holds for these destinations too.
      const set = base | bits;
      const end = classStarts[place + 1] ?? 0;
      for (let at = classStarts[place] ?? 0; at < end; at += 1) {
        const index = namedClasses[at] ?? 0;
        const state = states[index] ?? 0;
        if (state === 0 && stamps[index] !== this.#user) {
          stamps[index] = this.#user;
          this.#touched[this.#touchedCount] = index;
          this.#touchedCount += 1;
        }
        states[index] = state | touchedBit | (set & (undecidedBits[state] ?? 0));
      }
    }
    base |= fallbackBits & (sideBits[variant.sides] ?? 0) & (undecidedBits[base] ?? 0);
    variant.base = base;
  }

  /** Turns the states of all variants into changes of level, and forgets them. */
  #count(variantCount: number): void {
    const { classSizes, destinationCount } = this.lane;
    const variants = this.#variants;
    let userCodes = 0;
    for (let index = 0; index < variantCount; index += 1) {
      const variant = variants[index];
      if (variant === undefined) continue;
      const code = changeOf[variant.base] ?? 0;
      variant.code = code;
      variant.counted = countedSubjects(variant.members);
      variant.gained = isGain(code) ? destinationCount : 0;
      variant.lost = code !== 0 && !isGain(code) ? destinationCount : 0;
      if (code === 0) continue;
      this.#bases.add(code, variant.counted, 1);
      if ((userCodes & (1 << code)) === 0) this.#bases.addUser(code, 1);
      userCodes |= 1 << code;
    }
    for (let touched = 0; touched < this.#touchedCount; touched += 1) {
      const index = this.#touched[touched] ?? 0;
      const slot = index * changeCount;
      let codes = 0;
      for (let place = 0; place < variantCount; place += 1) {
        const variant = variants[place];
        if (variant === undefined) continue;
        const state = variant.states[index] ?? 0;
        variant.states[index] = 0;
        const code = changeOf[(state | (variant.base & (undecidedBits[state] ?? 0))) & 63] ?? 0;
        codes |= 1 << code;
        if (code === variant.code) continue;
        const size = classSizes[index] ?? 0;
        if (variant.code !== 0) {
          this.#corrections.add(slot + variant.code, variant.counted, -1);
          if (isGain(variant.code)) variant.gained -= size;
          else variant.lost -= size;
        }
        if (code !== 0) {
          this.#corrections.add(slot + code, variant.counted, 1);
          if (isGain(code)) variant.gained += size;
          else variant.lost += size;
        }
      }
      const differing = (codes ^ userCodes) & ~1;
      if (differing === 0) continue;
      for (let code = 1; code < changeCount; code += 1) {
        if ((differing & (1 << code)) !== 0)
          this.#corrections.addUser(slot + code, (codes & (1 << code)) === 0 ? -1 : 1);
      }
    }
    for (let index = 0; index < variantCount; index += 1) {
      const variant = variants[index];
      if (variant === undefined) continue;
      for (const member of variant.members) {
        if (variant.gained > 0) member.gains = true;
        if (variant.lost > 0) member.loses = true;
      }
    }
  }
}

function countedSubjects(members: readonly ComparedSubject[]): CountedSubjects {
  let devices = 0;
  let marks = 0;
  let otherMarks = 0;
  for (const { isDevice, mark, otherMark } of members) {
    if (isDevice) devices += 1;
    marks ^= mark;
    otherMarks ^= otherMark;
  }
  return { subjects: members.length, devices, marks, otherMarks };
}

function isSame(one: Variant, other: Variant): boolean {
  if (one.sides !== other.sides || one.steps.length !== other.steps.length) return false;
  for (let index = 0; index < one.steps.length; index += 1) if (one.steps[index] !== other.steps[index]) return false;
  return true;
}

function addPlaces(places: number[], more: readonly number[] | undefined): void {
  if (more !== undefined) for (const place of more) places.push(place);
}

/** In order, each once. Most lists are short, and made of a few that are in order. */
function sortedOnce(places: number[]): readonly number[] {
  if (places.length > 100) places.sort((a, b) => a - b);
  else {
    for (let index = 1; index < places.length; index += 1) {
      const place = places[index] ?? 0;
      let at = index - 1;
      for (; at >= 0 && (places[at] ?? 0) > place; at -= 1) places[at + 1] = places[at] ?? 0;
      places[at + 1] = place;
    }
  }
  let kept = 0;
  for (let index = 0; index < places.length; index += 1) {
    const place = places[index] ?? 0;
    if (kept > 0 && places[kept - 1] === place) continue;
    places[kept] = place;
    kept += 1;
  }
  places.length = kept;
  return places;
}
