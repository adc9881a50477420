import { IntColumn } from "./columns.ts";
import { type ChangeSet, changeCount, differentChanges, lowestChange } from "./level-changes.ts";

/** The subjects with the same change of level: counts, and a fingerprint by which equal sets are recognized. */
export interface ChangedSubjects {
  users: number;
  devices: number;
  sites: number;
  subjects: number;
  /** Exclusive or of the fingerprints of all subjects: 64 bits in two halves. */
  fingerprintA: number;
  fingerprintB: number;
}

export function noSubjects(): ChangedSubjects {
  return { users: 0, devices: 0, sites: 0, subjects: 0, fingerprintA: 0, fingerprintB: 0 };
}

/** Some subjects of one user. */
export interface CountedSubjects {
  readonly subjects: number;
  readonly devices: number;
  readonly fingerprintA: number;
  readonly fingerprintB: number;
}

/**
 * The fields of one slot, next to each other: slots are visited in random order. The slots of one change follow each
 * other, because most comparisons count few changes. The slots in use then share cache lines.
 */
const fields = { users: 0, devices: 1, subjects: 2, fingerprintA: 3, fingerprintB: 4 } as const;
const slotLength = 5;

/**
 * Counts of subjects and users by row and change of level. A row represents all destinations, the destinations of one
 * entry, or those of one class. Counts can be negative, because rows hold corrections to each other.
 */
export class SubjectTally {
  readonly #rows: number;
  readonly #counts: IntColumn;

  constructor(rows: number) {
    this.#rows = rows;
    this.#counts = new IntColumn(rows * changeCount * slotLength);
  }

  /** Counts subjects under another change of level than before. Change 0 is not counted. */
  moveSubjects(row: number, from: number, to: number, counted: CountedSubjects): void {
    if (from === to) return;
    if (from !== 0) this.#addSubjects(this.#slotAt(row, from), counted, -1);
    if (to !== 0) this.#addSubjects(this.#slotAt(row, to), counted, 1);
  }

  /** Counts one user under another set of changes than before. */
  moveUser(row: number, from: ChangeSet, to: ChangeSet): void {
    for (let left = differentChanges(from, to); left !== 0; left &= left - 1) {
      const change = lowestChange(left);
      const times = (to & (1 << change)) === 0 ? -1 : 1;
      this.#counts.add(this.#slotAt(row, change) + fields.users, times);
    }
  }

  addTo(sum: ChangedSubjects, row: number, change: number): void {
    const counts = this.#counts;
    const at = this.#slotAt(row, change);
    sum.users += counts.get(at + fields.users);
    sum.devices += counts.get(at + fields.devices);
    sum.subjects += counts.get(at + fields.subjects);
    sum.fingerprintA ^= counts.get(at + fields.fingerprintA);
    sum.fingerprintB ^= counts.get(at + fields.fingerprintB);
  }

  #slotAt(row: number, change: number): number {
    return (change * this.#rows + row) * slotLength;
  }

  #addSubjects(at: number, { subjects, devices, fingerprintA, fingerprintB }: CountedSubjects, times: 1 | -1): void {
    const counts = this.#counts;
    counts.add(at + fields.devices, devices * times);
    counts.add(at + fields.subjects, subjects * times);
    // Adding a fingerprint twice removes it.
    counts.xor(at + fields.fingerprintA, fingerprintA);
    counts.xor(at + fields.fingerprintB, fingerprintB);
  }
}

/** The first half of the fingerprint of a numbered subject: 32 bits mixed by the finalizer of MurmurHash3. */
export function subjectFingerprintA(number: number): number {
  return mix(Math.imul(number, 0x9e3779b1) ^ 0x2545f491);
}

/** The second half, mixed with other constants. */
export function subjectFingerprintB(number: number): number {
  return mix(Math.imul(number, 0x85ebca77) ^ 0x5bd1e995);
}

function mix(bits: number): number {
  let hash = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
