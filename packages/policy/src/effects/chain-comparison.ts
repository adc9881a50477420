import { type ChangedSubjects, type CountedSubjects, noSubjects, SubjectTally } from "./difference-tally.ts";
import { changeCount, changeOf, doneInBoth, isGain, sideBits, undecidedBits } from "./level-states.ts";
import { asking, type PolicyChain } from "./policy-chain.ts";
import type { RuleCertainties } from "./rule-certainties.ts";
import {
  bitsOfStep,
  type ComparedSubject,
  countedSubjects,
  isSame,
  joinSteps,
  type PrincipalState,
  SubjectGroup,
} from "./subject-group.ts";

/**
 * Goes through the policies of a chain for one user after the other, and counts whose level of access changes how. Users are taken
 * one by one rather than destinations, because most policies are about others, and what a user's policies name is little: all other
 * destinations get the user's base, which the policies for everywhere decide. What an entry does about the destinations that it names
 * is counted once for all of them. Those that several of a user's entries name are few, and are counted on their own.
 */
export class ChainComparison {
  readonly chain: PolicyChain;
  readonly #certainties: RuleCertainties;
  /** Of all destinations. */
  readonly #bases = new SubjectTally(1);
  /** Of each entry, what differs from the bases for each destination that it names. */
  readonly #entries: SubjectTally;
  /** Of each class, what differs from both. */
  readonly #classes: SubjectTally;
  /** For which entries and classes there is anything in these. */
  readonly #countedEntries: Uint8Array;
  readonly #countedClasses: Uint8Array;
  readonly #variants: SubjectGroup[] = [];
  readonly #reading: number[] = [];
  /** Of the user whose places were read last; 0 for those of a device. */
  #readingKey = 0;
  /** What the rule of an entry gave, and for whom. */
  readonly #askedKeys: Int32Array;
  readonly #askedBits: Uint8Array;
  /** The user at hand. What is stamped with it is about that user; everything else is left from others. */
  #user = 0;
  /** Entries that set something for any variant: the changes that it makes, and for how many variants, and what of that is no base. */
  readonly #places: number[] = [];
  readonly #placeStamps: Int32Array;
  readonly #placeCodes: Uint8Array;
  readonly #placeVariants: Int32Array;
  readonly #placeUsers: Uint8Array;
  /** Classes that some entry names, and those that several do. */
  readonly #classStamps: Int32Array;
  readonly #sharedStamps: Int32Array;
  readonly #shared: number[] = [];

  constructor(chain: PolicyChain, certainties: RuleCertainties) {
    this.chain = chain;
    this.#certainties = certainties;
    const classes = chain.classes.length;
    const entries = chain.entries.length;
    this.#entries = new SubjectTally(entries);
    this.#classes = new SubjectTally(classes);
    this.#countedEntries = new Uint8Array(entries);
    this.#countedClasses = new Uint8Array(classes);
    this.#askedKeys = new Int32Array(entries);
    this.#askedBits = new Uint8Array(entries);
    this.#placeStamps = new Int32Array(entries);
    this.#placeCodes = new Uint8Array(entries);
    this.#placeVariants = new Int32Array(entries);
    this.#placeUsers = new Uint8Array(entries);
    this.#classStamps = new Int32Array(classes);
    this.#sharedStamps = new Int32Array(classes);
  }

  /** @param subjects all of one user, or one site */
  compare(subjects: readonly ComparedSubject[]): void {
    this.#user += 1;
    this.#places.length = 0;
    this.#shared.length = 0;
    const variants = this.#vary(subjects);
    for (const variant of variants) this.#walk(variant);
    const userCodes = this.#countBases(variants);
    for (const variant of variants) this.#countEntries(variant);
    this.#countUsers(variants, userCodes);
    if (this.#shared.length > 0) this.#countShared(variants, userCodes);
    for (const { gained, lost, members } of variants) {
      for (const member of members) {
        if (gained > 0) member.gains = true;
        if (lost > 0) member.loses = true;
      }
    }
  }

  /** Who changed about destinations that no policy did anything special for, by code of change. */
  baseChanges(): readonly ChangedSubjects[] {
    return sumsOf((sum, code) => this.#bases.addTo(sum, code));
  }

  /** Who changed about the destinations of a class; undefined where they are like all others. */
  changesOf(classIndex: number): readonly ChangedSubjects[] | undefined {
    const places = (this.chain.classes[classIndex]?.places ?? []).filter((place) => this.#countedEntries[place] === 1);
    if (places.length === 0 && this.#countedClasses[classIndex] !== 1) return undefined;
    return sumsOf((sum, code) => {
      this.#bases.addTo(sum, code);
      this.#classes.addTo(sum, classIndex * changeCount + code);
      for (const place of places) this.#entries.addTo(sum, place * changeCount + code);
    });
  }

  #variant(index: number): SubjectGroup {
    let variant = this.#variants[index];
    if (variant === undefined) {
      variant = new SubjectGroup(this.chain.classes.length);
      this.#variants[index] = variant;
    }
    return variant;
  }

  /** Parts the subjects by what the policies do about them. */
  #vary(subjects: readonly ComparedSubject[]): readonly SubjectGroup[] {
    const variants: SubjectGroup[] = [];
    for (const subject of subjects) {
      const variant = this.#variant(variants.length);
      this.#readSteps(variant, subject);
      const same = variants.find((other) => isSame(other, variant));
      if (same !== undefined) {
        same.members.push(subject);
        continue;
      }
      variant.members.length = 0;
      variant.members.push(subject);
      variants.push(variant);
    }
    return variants;
  }

  #readSteps(variant: SubjectGroup, { before, after }: ComparedSubject): void {
    variant.steps.length = 0;
    variant.sides = (before === undefined ? 0 : 1) | (after === undefined ? 0 : 2);
    if (before !== undefined && before === after) {
      this.#addSteps(variant.steps, before, 3);
      return;
    }
    if (before !== undefined) this.#addSteps(variant.steps, before, 1);
    if (after === undefined) return;
    this.#addSteps(variant.steps, after, 2);
    if (before !== undefined) joinSteps(variant.steps);
  }

  #addSteps(steps: number[], party: PrincipalState, sides: number): void {
    const { certainBits, askings } = this.chain;
    const mask = sideBits[sides] ?? 0;
    const places = this.#placesFor(party);
    for (let index = 0; index < places.length; index += 1) {
      const place = places[index] ?? 0;
      const asks = askings[place] ?? 0;
      const bits = (asks === asking.nothing ? (certainBits[place] ?? 0) : this.#askedBitsOf(place, asks, party)) & mask;
      if (bits !== 0) steps.push(place * bitsOfStep + bits);
    }
  }

  #askedBitsOf(place: number, asks: number, party: PrincipalState): number {
    if (asks === asking.user && this.#askedKeys[place] === party.key) return this.#askedBits[place] ?? 0;
    const entry = this.chain.entries[place];
    if (entry?.rule === undefined) return 0;
    const certainty = this.#certainties.of(entry.rule, party.model, party, entry.resource);
    const bits = certainty === "no" ? 0 : certainty === "yes" ? entry.certainBits : entry.possibleBits;
    this.#askedKeys[place] = party.key;
    this.#askedBits[place] = bits;
    return bits;
  }

  /** The places of all entries that apply to a party, in order. */
  #placesFor({ model, user, device, groupIds, key }: PrincipalState): readonly number[] {
    const { forAnyone, forAnyGroup, forAnyDevice, byUser, byGroup, byDevice } = this.chain;
    if (user === undefined) return forAnyone;
    const own = device === undefined ? undefined : byDevice.get(device.id);
    const isLikeUser = own === undefined && (device === undefined || forAnyDevice.length === 0);
    const places = this.#reading;
    if (isLikeUser && this.#readingKey === key) return places;
    this.#readingKey = isLikeUser ? key : 0;
    places.length = 0;
    addPlaces(places, forAnyone);
    addPlaces(places, byUser.get(user.id));
    for (const id of groupIds) addPlaces(places, byGroup.get(id));
    if (forAnyGroup.length > 0 && groupIds.some((id) => model.groups.get(id) !== undefined))
      addPlaces(places, forAnyGroup);
    if (device !== undefined) addPlaces(places, forAnyDevice);
    addPlaces(places, own);
    return sortedOnce(places);
  }

  #walk(variant: SubjectGroup): void {
    const { everywhere, fallbackBits, destinationCount } = this.chain;
    const { steps, places, states, codes } = variant;
    places.length = 0;
    states.length = 0;
    codes.length = 0;
    let base = 0;
    for (let next = 0; next < steps.length; next += 1) {
      const step = steps[next] ?? 0;
      const place = Math.floor(step / bitsOfStep);
      const bits = step & (bitsOfStep - 1) & (undecidedBits[base] ?? 0);
      if (bits === 0) continue;
      if (everywhere[place] === 1) {
        base |= bits;
        if ((base & doneInBoth) === doneInBoth) break;
      } else {
        places.push(place);
        // What the policies for everywhere decided so far holds for these destinations too.
        states.push(base | bits);
      }
    }
    base |= fallbackBits & (sideBits[variant.sides] ?? 0) & (undecidedBits[base] ?? 0);
    variant.base = base;
    variant.code = changeOf[base] ?? 0;
    for (let index = 0; index < states.length; index += 1) codes.push(finalCode(states[index] ?? 0, base));
    variant.counted = countedSubjects(variant.members);
    variant.gained = isGain(variant.code) ? destinationCount : 0;
    variant.lost = variant.code !== 0 && !isGain(variant.code) ? destinationCount : 0;
  }

  /** @returns the changes that the bases are, as bits */
  #countBases(variants: readonly SubjectGroup[]): number {
    let userCodes = 0;
    for (const { code, counted } of variants) {
      userCodes |= 1 << code;
      if (code !== 0) this.#bases.add(code, counted, 1);
    }
    addUser(this.#bases, 0, userCodes & ~1, userCodes, 1);
    return userCodes;
  }

  /** Counts what the entries do for each of their destinations, as if no other named it. */
  #countEntries(variant: SubjectGroup): void {
    const { namedCounts } = this.chain;
    const { places, codes, counted } = variant;
    for (let index = 0; index < places.length; index += 1) {
      const place = places[index] ?? 0;
      const code = codes[index] ?? 0;
      if (this.#placeStamps[place] !== this.#user) {
        this.#placeStamps[place] = this.#user;
        this.#placeCodes[place] = 0;
        this.#placeVariants[place] = 0;
        this.#places.push(place);
        this.#stampClasses(place);
      }
      this.#placeCodes[place] = (this.#placeCodes[place] ?? 0) | (1 << code);
      this.#placeVariants[place] = (this.#placeVariants[place] ?? 0) + 1;
      if (code === variant.code) continue;
      this.#countedEntries[place] = 1;
      move(this.#entries, place * changeCount, variant.code, code, counted);
      variant.recount(variant.code, code, namedCounts[place] ?? 0);
    }
  }

  #stampClasses(place: number): void {
    const { classStarts, namedClasses } = this.chain;
    const stamps = this.#classStamps;
    const end = classStarts[place + 1] ?? 0;
    for (let at = classStarts[place] ?? 0; at < end; at += 1) {
      const index = namedClasses[at] ?? 0;
      if (stamps[index] !== this.#user) stamps[index] = this.#user;
      else if (this.#sharedStamps[index] !== this.#user) {
        this.#sharedStamps[index] = this.#user;
        this.#shared.push(index);
      }
    }
  }

  /** Counts the user once for each change that an entry makes for any variant. */
  #countUsers(variants: readonly SubjectGroup[], userCodes: number): void {
    for (const place of this.#places) {
      let codes = this.#placeCodes[place] ?? 0;
      if (this.#placeVariants[place] !== variants.length) {
        for (const variant of variants) if (!variant.places.includes(place)) codes |= 1 << variant.code;
      }
      this.#placeUsers[place] = codes;
      addUser(this.#entries, place * changeCount, codes ^ userCodes, codes, 1);
    }
  }

  /** For classes that several entries name, takes back what was counted for each entry, and counts what they do together. */
  #countShared(variants: readonly SubjectGroup[], userCodes: number): void {
    const { classStarts, namedClasses } = this.chain;
    for (const place of this.#places) {
      const codes = this.#placeUsers[place] ?? 0;
      if (((codes ^ userCodes) & ~1) === 0) continue;
      const end = classStarts[place + 1] ?? 0;
      for (let at = classStarts[place] ?? 0; at < end; at += 1) {
        const index = namedClasses[at] ?? 0;
        if (this.#sharedStamps[index] !== this.#user) continue;
        addUser(this.#classes, index * changeCount, codes ^ userCodes, codes, -1);
      }
    }
    for (const variant of variants) this.#shareStates(variant);
    for (const index of this.#shared) {
      this.#countedClasses[index] = 1;
      const slot = index * changeCount;
      let codes = 0;
      for (const variant of variants) {
        const code = finalCode(variant.shared[index] ?? 0, variant.base);
        variant.shared[index] = 0;
        codes |= 1 << code;
        move(this.#classes, slot, variant.code, code, variant.counted);
        variant.recount(variant.code, code, this.chain.classSizes[index] ?? 0);
      }
      addUser(this.#classes, slot, codes ^ userCodes, codes, 1);
    }
  }

  #shareStates(variant: SubjectGroup): void {
    const { classStarts, namedClasses, classSizes } = this.chain;
    const { places, states, codes, shared, counted } = variant;
    for (let next = 0; next < places.length; next += 1) {
      const place = places[next] ?? 0;
      const code = codes[next] ?? 0;
      const set = states[next] ?? 0;
      const end = classStarts[place + 1] ?? 0;
      for (let at = classStarts[place] ?? 0; at < end; at += 1) {
        const index = namedClasses[at] ?? 0;
        if (this.#sharedStamps[index] !== this.#user) continue;
        const state = shared[index] ?? 0;
        shared[index] = state | (set & (undecidedBits[state] ?? 0));
        if (code === variant.code) continue;
        move(this.#classes, index * changeCount, code, variant.code, counted);
        variant.recount(code, variant.code, classSizes[index] ?? 0);
      }
    }
  }
}

function sumsOf(add: (sum: ChangedSubjects, code: number) => void): readonly ChangedSubjects[] {
  return Array.from({ length: changeCount }, (_, code) => {
    const sum = noSubjects();
    if (code !== 0) add(sum, code);
    return sum;
  });
}

/** The change that a destination has whose own state is completed by the base. */
function finalCode(state: number, base: number): number {
  return changeOf[state | (base & (undecidedBits[state] ?? 0))] ?? 0;
}

/** Counts subjects for another change of level than they were counted for. */
function move(tally: SubjectTally, slot: number, from: number, to: number, counted: CountedSubjects): void {
  if (from === to) return;
  if (from !== 0) tally.add(slot + from, counted, -1);
  if (to !== 0) tally.add(slot + to, counted, 1);
}

/**
 * Counts a user for changes of level, as bits, or no longer.
 *
 * @param differing for which of them anything is to be counted
 * @param codes those that the user has
 * @param times -1 to take back what was counted
 */
function addUser(tally: SubjectTally, slot: number, differing: number, codes: number, times: 1 | -1): void {
  if ((differing & ~1) === 0) return;
  for (let code = 1; code < changeCount; code += 1) {
    if ((differing & (1 << code)) === 0) continue;
    tally.addUser(slot + code, (codes & (1 << code)) === 0 ? (-times as 1 | -1) : times); // of 1, -1
  }
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
