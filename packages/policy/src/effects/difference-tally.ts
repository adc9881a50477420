import type { AccessCounts, Direction } from "./access-difference.ts";
import { changeCount, changes, isGain } from "./level-states.ts";

/** The subjects whose level changed in one way, as counts and as a fingerprint by which equal sets are recognised. */
export interface ChangedSubjects {
  users: number;
  devices: number;
  sites: number;
  subjects: number;
  /** The fingerprintA of all subjects, put together by exclusive or: 64 bits. */
  fingerprintA: number;
  fingerprintB: number;
}

export function noSubjects(): ChangedSubjects {
  return { users: 0, devices: 0, sites: 0, subjects: 0, fingerprintA: 0, fingerprintB: 0 };
}

/** What is counted in a slot, one beside the other: slots are visited in no order. */
const fields = { users: 0, devices: 1, subjects: 2, fingerprintA: 3, fingerprintB: 4 } as const;
const slotLength = 5;

/** For each change of level the subjects for whom it is so, of each of some places. */
export class SubjectTally {
  readonly #counts: Int32Array;

  constructor(places: number) {
    this.#counts = new Int32Array(places * changeCount * slotLength);
  }

  /** @param times 1 to add them, -1 to take them away again */
  add(slot: number, { subjects, devices, fingerprintA, fingerprintB }: CountedSubjects, times: 1 | -1): void {
    const counts = this.#counts;
    const at = slot * slotLength;
    counts[at + fields.devices] = (counts[at + fields.devices] ?? 0) + devices * times;
    counts[at + fields.subjects] = (counts[at + fields.subjects] ?? 0) + subjects * times;
    counts[at + fields.fingerprintA] = (counts[at + fields.fingerprintA] ?? 0) ^ fingerprintA;
    counts[at + fields.fingerprintB] = (counts[at + fields.fingerprintB] ?? 0) ^ fingerprintB;
  }

  addUser(slot: number, times: 1 | -1): void {
    const at = slot * slotLength + fields.users;
    this.#counts[at] = (this.#counts[at] ?? 0) + times;
  }

  addTo(sum: ChangedSubjects, slot: number): void {
    const field = (offset: number) => this.#counts[slot * slotLength + offset] ?? 0;
    sum.users += field(fields.users);
    sum.devices += field(fields.devices);
    sum.subjects += field(fields.subjects);
    sum.fingerprintA ^= field(fields.fingerprintA);
    sum.fingerprintB ^= field(fields.fingerprintB);
  }
}

/** Some subjects of one user. */
export interface CountedSubjects {
  readonly subjects: number;
  readonly devices: number;
  readonly fingerprintA: number;
  readonly fingerprintB: number;
}

/** Two fingerprintA of 32 bits for the subject of a number, which look like chance (finalizers of MurmurHash3). */
export function subjectFingerprintA(number: number): number {
  return mixed(Math.imul(number, 0x9e3779b1) ^ 0x2545f491);
}

export function subjectFingerprintB(number: number): number {
  return mixed(Math.imul(number, 0x85ebca77) ^ 0x5bd1e995);
}

function mixed(bits: number): number {
  let hash = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** How many gain and lose anything at all. */
export class ChangedCounts {
  users = 0;
  devices = 0;
  sites = 0;
}

/** What changed about one destination: for each change of level, who. */
export interface DestinationChanges {
  /** Absent: the internet. */
  readonly resourceId: string | undefined;
  readonly byCode: readonly (ChangedSubjects | undefined)[];
}

/** The counts of a direction over all destinations. */
export function countsOf(
  direction: Direction,
  parties: ChangedCounts,
  destinations: readonly DestinationChanges[],
): AccessCounts {
  let resources = 0;
  let internet = false;
  let pairs = 0;
  for (const { resourceId, byCode } of destinations) {
    let own = 0;
    for (let code = 1; code < changeCount; code += 1) {
      if (isGain(code) === (direction === "gained")) own += byCode[code]?.subjects ?? 0;
    }
    pairs += own;
    if (own === 0) continue;
    if (resourceId === undefined) internet = true;
    else resources += 1;
  }
  const { users, devices, sites } = parties;
  return { users, devices, sites, resources, internet, pairs };
}

/** Destinations that the same subjects gained or lost in the same way. */
export interface AlikeDestinations {
  readonly code: number;
  readonly subjects: ChangedSubjects;
  readonly resourceIds: string[];
  internet: boolean;
  /** The place of the first among all destinations. */
  readonly first: number;
}

/** Gained ones first, then those of most rows, then by the first destination and the levels. */
export function alikeDestinations(destinations: readonly DestinationChanges[]): readonly AlikeDestinations[] {
  const byKey = new Map<string, AlikeDestinations>();
  for (const [first, { resourceId, byCode }] of destinations.entries()) {
    for (const [code, subjects] of byCode.entries()) {
      if (subjects === undefined || subjects.subjects === 0) continue;
      const { users, devices, sites, fingerprintA, fingerprintB } = subjects;
      const key = `${code} ${users} ${devices} ${sites} ${subjects.subjects} ${fingerprintA} ${fingerprintB}`;
      let alike = byKey.get(key);
      if (alike === undefined) {
        alike = { code, subjects, resourceIds: [], internet: false, first };
        byKey.set(key, alike);
      }
      if (resourceId === undefined) alike.internet = true;
      else alike.resourceIds.push(resourceId);
    }
  }
  return [...byKey.values()].sort((a, b) => {
    const byDirection = Number(isGain(b.code)) - Number(isGain(a.code));
    return byDirection || pairsOf(b) - pairsOf(a) || a.first - b.first || levelOrder(a.code) - levelOrder(b.code);
  });
}

export function pairsOf({ subjects, resourceIds, internet }: AlikeDestinations): number {
  return subjects.subjects * (resourceIds.length + (internet ? 1 : 0));
}

const levels = ["never", "sometimes", "always"] as const;

function levelOrder(code: number): number {
  const { before = "never", after = "never" } = changes[code] ?? {};
  return levels.indexOf(before) * levels.length + levels.indexOf(after);
}
