import { sortingBy } from "../sorting.ts";
import { recordCost, recordsAtOnce, type Work } from "../work.ts";
import type { AccessCounts, Direction } from "./access-difference.ts";
import { changeCount, isGain, levelChange } from "./level-changes.ts";
import type { ChangedSubjects } from "./subject-tally.ts";

/** The numbers of users, devices and sites that gain or lose any access. */
export class ChangedCounts {
  users = 0;
  devices = 0;
  sites = 0;
}

/** The changes about one destination. */
export interface DestinationChanges {
  /** Undefined for the internet. */
  readonly resourceId: string | undefined;
  /** The subjects with each change of level, by change code. */
  readonly byChange: readonly (ChangedSubjects | undefined)[];
}

/** The counts of one direction over all destinations. */
export function countsOf(
  direction: Direction,
  { users, devices, sites }: ChangedCounts,
  destinations: readonly DestinationChanges[],
): AccessCounts {
  let resources = 0;
  let internet = false;
  let pairs = 0;
  for (const { resourceId, byChange } of destinations) {
    let own = 0;
    for (let change = 1; change < changeCount; change += 1) {
      if (isGain(change) === (direction === "gained")) own += byChange[change]?.subjects ?? 0;
    }
    pairs += own;
    if (own === 0) continue;
    if (resourceId === undefined) internet = true;
    else resources += 1;
  }
  return { users, devices, sites, resources, internet, pairs };
}

/** Destinations with the same change of level for the same subjects. */
export interface DestinationGroup {
  readonly change: number;
  readonly subjects: ChangedSubjects;
  readonly resourceIds: string[];
  internet: boolean;
  /** The index of the first of these destinations among all destinations. */
  readonly first: number;
}

/**
 * Groups destinations by change and subjects. Gains come first, then the groups with the most rows, then by the first
 * destination and by level.
 */
export function* groupingDestinations(destinations: readonly DestinationChanges[]): Work<readonly DestinationGroup[]> {
  const groups: DestinationGroup[] = [];
  const byFingerprint = new Map<number, DestinationGroup[]>();
  for (const [first, { resourceId, byChange }] of destinations.entries()) {
    for (const [change, subjects] of byChange.entries()) {
      if (subjects === undefined || subjects.subjects === 0) continue;
      let similar = byFingerprint.get(subjects.fingerprintA);
      if (similar === undefined) {
        similar = [];
        byFingerprint.set(subjects.fingerprintA, similar);
      }
      let group = similar.find((other) => other.change === change && areSame(other.subjects, subjects));
      if (group === undefined) {
        group = { change, subjects, resourceIds: [], internet: false, first };
        similar.push(group);
        groups.push(group);
      }
      if (resourceId === undefined) group.internet = true;
      else group.resourceIds.push(resourceId);
    }
    if (first % recordsAtOnce === 0) yield recordsAtOnce * recordCost;
  }
  return yield* sortingBy(compareGroups, groups);
}

function areSame(one: ChangedSubjects, other: ChangedSubjects): boolean {
  return (
    one.fingerprintA === other.fingerprintA &&
    one.fingerprintB === other.fingerprintB &&
    one.subjects === other.subjects &&
    one.users === other.users &&
    one.devices === other.devices &&
    one.sites === other.sites
  );
}

function compareGroups(a: DestinationGroup, b: DestinationGroup): number {
  const byDirection = Number(isGain(b.change)) - Number(isGain(a.change));
  return byDirection || pairsOf(b) - pairsOf(a) || a.first - b.first || levelOrder(a.change) - levelOrder(b.change);
}

export function pairsOf({ subjects, resourceIds, internet }: DestinationGroup): number {
  return subjects.subjects * (resourceIds.length + (internet ? 1 : 0));
}

const levels = ["never", "sometimes", "always"] as const;

function levelOrder(change: number): number {
  const { before, after } = levelChange(change);
  return levels.indexOf(before) * levels.length + levels.indexOf(after);
}
