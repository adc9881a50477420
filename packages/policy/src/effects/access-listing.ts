import { resolvePrincipal } from "../decisions/resolve-principal.ts";
import type { Model } from "../model/model.ts";
import type { AccessGroup, AccessRow, AccessSubject, Direction, Page } from "./access-difference.ts";
import { type AccessLevel, evaluateAccess } from "./access-level.ts";
import type { AffectedAccess } from "./affected-access.ts";
import { ComparedSubjects } from "./compared-subjects.ts";
import { alikeDestinations, type DestinationChanges, pairsOf } from "./difference-tally.ts";
import { changes, codeOf, isGain } from "./level-states.ts";
import type { KnownCircumstances } from "./open-circumstances.ts";

/** A subject and the change of its level, by code. */
interface ChangedSubject {
  readonly subject: AccessSubject;
  readonly code: number;
}

/** What is listed of one destination, as far as somebody asked for it. */
interface Listed {
  readonly found: ChangedSubject[];
  readonly more: Iterator<ChangedSubject>;
}

/** So many destinations' subjects are kept listed: pages follow each other. */
const maxListed = 4;

/**
 * Lists who is behind the counts of a difference, by asking again: to keep all pairs would take more than a process has. Nothing is
 * asked before it is wanted.
 */
export class AccessListing {
  readonly #before: Model;
  readonly #after: Model;
  readonly #affected: AffectedAccess;
  readonly #circumstances: KnownCircumstances;
  readonly #listed = new Map<string | undefined, Listed>();

  constructor(before: Model, after: Model, affected: AffectedAccess, circumstances: KnownCircumstances) {
    this.#before = before;
    this.#after = after;
    this.#affected = affected;
    this.#circumstances = circumstances;
  }

  /** The change of a subject's access to a resource, or to the internet, by code. */
  changeFor(subject: AccessSubject, resourceId: string | undefined): number {
    return codeOf(this.#levelIn(this.#before, subject, resourceId), this.#levelIn(this.#after, subject, resourceId));
  }

  groupsOf(destinations: readonly DestinationChanges[]): readonly AccessGroup[] {
    return alikeDestinations(destinations).map((alike): AccessGroup => {
      const { code, subjects, resourceIds, internet, first } = alike;
      const { direction, before, after } = changeOf(code);
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
        pairs: pairsOf(alike),
        resourceIds,
        subjectCount: subjects.subjects,
        subjects: ({ offset, limit }) => {
          if (destination === undefined) return [];
          const wanted = this.#wanted(destination, (other) => other === code, subjects.subjects, { offset, limit });
          return wanted.map(({ subject }) => subject);
        },
      };
    });
  }

  rows(destinations: readonly DestinationChanges[], { offset, limit }: Page): readonly AccessRow[] {
    const rows: AccessRow[] = [];
    let passed = 0;
    for (const direction of ["gained", "lost"] as const) {
      for (const destination of destinations) {
        if (rows.length >= limit) return rows;
        const count = rowsIn(destination, direction);
        const skipped = Math.max(0, offset - passed);
        passed += count;
        if (skipped >= count) continue;
        const isWanted = (code: number) => isGain(code) === (direction === "gained");
        const page = { offset: skipped, limit: limit - rows.length };
        for (const { subject, code } of this.#wanted(destination, isWanted, count, page)) {
          const { resourceId } = destination;
          rows.push({ ...changeOf(code), subject, ...(resourceId === undefined ? {} : { resourceId }) });
        }
      }
    }
    return rows;
  }

  /** @param count how many there are in all that are wanted */
  #wanted(
    { resourceId }: DestinationChanges,
    isWanted: (code: number) => boolean,
    count: number,
    { offset, limit }: Page,
  ): readonly ChangedSubject[] {
    const end = Math.min(count, offset + limit);
    const wanted: ChangedSubject[] = [];
    let met = 0;
    if (offset >= end) return wanted;
    for (const changed of this.#changedSubjects(resourceId)) {
      if (!isWanted(changed.code)) continue;
      if (met >= offset) wanted.push(changed);
      met += 1;
      if (met >= end) break;
    }
    return wanted;
  }

  *#changedSubjects(resourceId: string | undefined): Iterable<ChangedSubject> {
    const listed = this.#listed.get(resourceId) ?? this.#open(resourceId);
    for (let index = 0; ; index += 1) {
      let changed = listed.found[index];
      if (changed === undefined) {
        const next = listed.more.next();
        if (next.done === true) return;
        changed = next.value;
        listed.found.push(changed);
      }
      yield changed;
    }
  }

  #open(resourceId: string | undefined): Listed {
    const [oldest] = this.#listed.keys();
    if (this.#listed.size >= maxListed) this.#listed.delete(oldest);
    const listed: Listed = { found: [], more: this.#asked(resourceId) };
    this.#listed.set(resourceId, listed);
    return listed;
  }

  *#asked(resourceId: string | undefined): Generator<ChangedSubject, undefined> {
    const compared = new ComparedSubjects(this.#before, this.#after, this.#affected.usersFor(resourceId));
    for (const { subjects } of compared.byUser()) {
      for (const { subject } of subjects) {
        const code = this.changeFor(subject, resourceId);
        if (code !== 0) yield { subject, code };
      }
    }
    for (const { subject } of compared.sites()) {
      const code = this.changeFor(subject, resourceId);
      if (code !== 0) yield { subject, code };
    }
    return undefined;
  }

  #levelIn(model: Model, subject: AccessSubject, resourceId: string | undefined): AccessLevel {
    const resource = resourceId === undefined ? undefined : model.resources.get(resourceId);
    if (resourceId !== undefined && resource === undefined) return "never";
    const principal = resolvePrincipal(model, subject);
    return typeof principal === "string"
      ? "never"
      : evaluateAccess(model, principal, resource, this.#circumstances).level;
  }
}

function rowsIn({ byCode }: DestinationChanges, direction: Direction): number {
  return byCode.reduce((sum, subjects, code) => {
    return code !== 0 && isGain(code) === (direction === "gained") ? sum + (subjects?.subjects ?? 0) : sum;
  }, 0);
}

function changeOf(code: number) {
  const change = changes[code];
  if (change === undefined) throw new RangeError(`${code} is no change of level.`);
  return change;
}
