import { resolvePrincipal } from "../decisions/resolve-principal.ts";
import type { Model } from "../model/model.ts";
import { entryCost, type Work } from "../work.ts";
import type { AccessGroup, AccessRow, AccessSubject, Direction, Page } from "./access-difference.ts";
import { type AccessLevel, evaluatingAccess } from "./access-level.ts";
import type { AffectedAccess } from "./affected-access.ts";
import { ComparedSubjects } from "./compared-subjects.ts";
import { type DestinationChanges, groupingDestinations, pairsOf } from "./destination-changes.ts";
import { changeBetween, isGain, levelChange } from "./level-changes.ts";
import type { KnownCircumstances } from "./open-circumstances.ts";

/** A subject and the change of its level, as a change code. */
interface ChangedSubject {
  readonly subject: AccessSubject;
  readonly change: number;
}

/** The changed subjects of one destination, listed as far as they were requested. */
interface Listing {
  readonly listed: ChangedSubject[];
  /** Yields the next subject, or the units of cost that were spent. */
  readonly rest: Iterator<ChangedSubject | number, void>;
}

/** The number of destinations whose listing is cached: consecutive pages usually continue a listing. */
const maxListings = 4;

/**
 * Lists the subjects behind the counts of a difference by evaluating them again. All pairs of subject and destination
 * would not fit into memory. Subjects are evaluated only when a page requests them.
 */
export class AccessListing {
  readonly #before: Model;
  readonly #after: Model;
  readonly #affected: AffectedAccess;
  readonly #circumstances: KnownCircumstances;
  readonly #listings = new Map<string | undefined, Listing>();

  constructor(before: Model, after: Model, affected: AffectedAccess, circumstances: KnownCircumstances) {
    this.#before = before;
    this.#after = after;
    this.#affected = affected;
    this.#circumstances = circumstances;
  }

  /**
   * The change code of a subject's access to a destination.
   *
   * @param resourceId undefined for the internet
   */
  *changeFor(subject: AccessSubject, resourceId: string | undefined): Work<number> {
    const before = yield* this.#levelIn(this.#before, subject, resourceId);
    return changeBetween(before, yield* this.#levelIn(this.#after, subject, resourceId));
  }

  *groupsOf(destinations: readonly DestinationChanges[]): Work<readonly AccessGroup[]> {
    const readPage = this.#page.bind(this);
    const groups = yield* groupingDestinations(destinations);
    yield groups.length * entryCost;
    return groups.map((group): AccessGroup => {
      const { change, subjects, resourceIds, internet, first } = group;
      const { direction, before, after } = levelChange(change);
      const destination = destinations[first];
      return {
        direction,
        before,
        after,
        users: subjects.users,
        devices: subjects.devices,
        sites: subjects.sites,
        resources: resourceIds.length,
        internet,
        pairs: pairsOf(group),
        resourceIds,
        subjectCount: subjects.subjects,
        subjects: function* (this: void, { offset, limit }) {
          if (destination === undefined) return [];
          const page = yield* readPage(destination, (other) => other === change, subjects.subjects, { offset, limit });
          return page.map(({ subject }) => subject);
        },
      };
    });
  }

  *rows(destinations: readonly DestinationChanges[], { offset, limit }: Page): Work<readonly AccessRow[]> {
    const rows: AccessRow[] = [];
    let passed = 0;
    for (const direction of ["gained", "lost"] as const) {
      for (const destination of destinations) {
        if (rows.length >= limit) return rows;
        const count = rowsIn(destination, direction);
        const skipped = Math.max(0, offset - passed);
        passed += count;
        if (skipped >= count) continue;
        const isWanted = (change: number) => isGain(change) === (direction === "gained");
        const page = { offset: skipped, limit: limit - rows.length };
        for (const { subject, change } of yield* this.#page(destination, isWanted, count, page)) {
          const { resourceId } = destination;
          rows.push({ ...levelChange(change), subject, ...(resourceId === undefined ? {} : { resourceId }) });
        }
      }
    }
    return rows;
  }

  /**
   * The subjects of one destination with some of the changes.
   *
   * @param count the number of these subjects on all pages
   */
  *#page(
    { resourceId }: DestinationChanges,
    isWanted: (change: number) => boolean,
    count: number,
    { offset, limit }: Page,
  ): Work<readonly ChangedSubject[]> {
    const end = Math.min(count, offset + limit);
    const page: ChangedSubject[] = [];
    let found = 0;
    if (offset >= end) return page;
    for (const changed of this.#changedSubjects(resourceId)) {
      if (typeof changed === "number") {
        yield changed;
        continue;
      }
      if (!isWanted(changed.change)) continue;
      if (found >= offset) page.push(changed);
      found += 1;
      if (found >= end) break;
    }
    return page;
  }

  *#changedSubjects(resourceId: string | undefined): Iterable<ChangedSubject | number> {
    const { listed, rest } = this.#listings.get(resourceId) ?? this.#open(resourceId);
    let index = 0;
    for (;;) {
      const known = listed[index];
      if (known !== undefined) {
        index += 1;
        yield known;
        continue;
      }
      const next = rest.next();
      if (next.done === true) return;
      if (typeof next.value === "number") yield next.value;
      else listed.push(next.value);
    }
  }

  #open(resourceId: string | undefined): Listing {
    const [oldest] = this.#listings.keys();
    if (this.#listings.size >= maxListings) this.#listings.delete(oldest);
    const listing: Listing = { listed: [], rest: this.#evaluate(resourceId) };
    this.#listings.set(resourceId, listing);
    return listing;
  }

  *#evaluate(resourceId: string | undefined): Generator<ChangedSubject | number, void> {
    const users = yield* this.#affected.usersFor(resourceId);
    const compared = yield* ComparedSubjects.finding(this.#before, this.#after, users);
    for (const { subjects } of compared.byUser()) {
      for (const { subject } of subjects) {
        const change = yield* this.changeFor(subject, resourceId);
        if (change !== 0) yield { subject, change };
      }
    }
    for (const { subject } of compared.sites()) {
      const change = yield* this.changeFor(subject, resourceId);
      if (change !== 0) yield { subject, change };
    }
  }

  *#levelIn(model: Model, subject: AccessSubject, resourceId: string | undefined): Work<AccessLevel> {
    const resource = resourceId === undefined ? undefined : model.resources.get(resourceId);
    if (resourceId !== undefined && resource === undefined) return "never";
    const principal = resolvePrincipal(model, subject);
    if (typeof principal === "string") return "never";
    return (yield* evaluatingAccess(model, principal, resource, this.#circumstances)).level;
  }
}

function rowsIn({ byChange }: DestinationChanges, direction: Direction): number {
  return byChange.reduce((sum, subjects, change) => {
    return change !== 0 && isGain(change) === (direction === "gained") ? sum + (subjects?.subjects ?? 0) : sum;
  }, 0);
}
