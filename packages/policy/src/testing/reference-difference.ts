import type {
  AccessCounts,
  AccessDifference,
  AccessGroup,
  AccessRow,
  AccessSubject,
  Page,
} from "../effects/access-difference.ts";
import type { AccessLevel } from "../effects/access-level.ts";
import type { TenantFacts } from "../model/facts.ts";
import { finish, type Work } from "../work.ts";

/** The whole content of an `AccessDifference`. */
export interface WholeDifference {
  readonly gained: AccessCounts;
  readonly lost: AccessCounts;
  readonly groups: readonly WholeGroup[];
  readonly rows: readonly AccessRow[];
}

export type WholeGroup = Omit<AccessGroup, "subjects"> & { readonly subjects: readonly AccessSubject[] };

/** The level of a subject's access to a resource, or to the internet. */
export type LevelOf = (subject: AccessSubject, resourceId: string | undefined) => AccessLevel;

/** No resource has an address in this domain, which is reserved for invalid names. */
export const internetAddress = "nowhere.invalid";

/** Computes the difference by deciding each subject and destination before and after. Contains no optimizations. */
export function referenceDifference(
  before: { readonly facts: TenantFacts; readonly levelOf: LevelOf },
  after: { readonly facts: TenantFacts; readonly levelOf: LevelOf },
): WholeDifference {
  const tenants = [before.facts, after.facts];
  const subjects = subjectsOf(tenants);
  const resources = sortedIds(tenants.flatMap((facts) => facts.resources));
  const rows = [...resources, undefined].flatMap((resourceId) =>
    subjects.flatMap((subject) => {
      const was = before.levelOf(subject, resourceId);
      const is = after.levelOf(subject, resourceId);
      return was === is ? [] : [rowOf(was, is, subject, resourceId)];
    }),
  );
  return differenceOf(rows);
}

/** Reads all rows of a difference in pages. */
export function wholeOf(difference: AccessDifference, pageSize: number): WholeDifference {
  return {
    gained: difference.gained,
    lost: difference.lost,
    groups: difference.groups.map(({ subjects, ...group }) => ({
      ...group,
      subjects: allPages((page) => finish(subjects(page)), pageSize),
    })),
    rows: allPages((page) => finish(difference.rows(page)), pageSize),
  };
}

/** Presents a whole difference as the result of an engine. */
export function answerOf({ groups, rows, ...counts }: WholeDifference): AccessDifference {
  const paged = <Value>(all: readonly Value[]) =>
    function* ({ offset, limit }: Page): Work<readonly Value[]> {
      yield 1;
      return all.slice(offset, offset + limit);
    };
  return {
    ...counts,
    groups: groups.map((group) => ({ ...group, subjects: paged(group.subjects) })),
    rows: paged(rows),
  };
}

export function differenceOf(all: readonly AccessRow[]): WholeDifference {
  const gained = all.filter(({ direction }) => direction === "gained");
  const lost = all.filter(({ direction }) => direction === "lost");
  const rows = [...gained, ...lost];
  return { gained: countsOf(gained), lost: countsOf(lost), groups: groupsOf(rows), rows };
}

export function subjectsOf(tenants: readonly TenantFacts[]): readonly AccessSubject[] {
  const devices = tenants.flatMap((facts) => facts.devices);
  const users = sortedIds(tenants.flatMap((facts) => facts.users)).flatMap((userId): AccessSubject[] => {
    const owned = sortedIds(devices.filter((device) => device.userId === userId));
    return [{ kind: "user", userId }, ...owned.map((deviceId) => ({ kind: "user" as const, userId, deviceId }))];
  });
  const sites = sortedIds(tenants.flatMap((facts) => facts.gateways));
  return [...users, ...sites.map((gatewayId) => ({ kind: "site" as const, gatewayId }))];
}

const ranks: Readonly<Record<AccessLevel, number>> = { never: 0, sometimes: 1, always: 2 };

function rowOf(was: AccessLevel, is: AccessLevel, subject: AccessSubject, resourceId: string | undefined): AccessRow {
  const direction = ranks[was] < ranks[is] ? "gained" : "lost";
  return { direction, before: was, after: is, subject, ...(resourceId === undefined ? {} : { resourceId }) };
}

function groupsOf(rows: readonly AccessRow[]): readonly WholeGroup[] {
  const lists = [
    ...grouped(rows, ({ direction, before, after, resourceId }) => [direction, before, after, resourceId]),
  ];
  const alike = grouped(lists, ([first, ...others]) => [
    [first?.direction, first?.before, first?.after],
    [first, ...others].map((row) => row?.subject),
  ]);
  const groups = [...alike].map((members): WholeGroup => {
    const own = members.flat();
    const subjects = (members[0] ?? []).map(({ subject }) => subject);
    const { direction = "gained", before = "never", after = "never" } = own[0] ?? {};
    const resourceIds = [...new Set(own.flatMap(({ resourceId }) => resourceId ?? []))];
    return { direction, before, after, ...countsOf(own), resourceIds, subjectCount: subjects.length, subjects };
  });
  const destinations = [...new Set(rows.map(({ resourceId }) => resourceId ?? "the internet, behind all ids"))].sort();
  const placeOf = (group: WholeGroup) => [
    group.direction === "gained" ? 0 : 1,
    -group.pairs,
    destinations.indexOf(group.resourceIds[0] ?? "the internet, behind all ids"),
    ranks[group.before],
    ranks[group.after],
  ];
  return groups.sort((a, b) => {
    const others = placeOf(b);
    return placeOf(a).reduce((order, place, index) => order || place - (others[index] ?? 0), 0);
  });
}

export function countsOf(rows: readonly AccessRow[]): AccessCounts {
  const distinct = (ids: readonly (string | undefined)[]) => new Set(ids.filter((id) => id !== undefined)).size;
  return {
    users: distinct(rows.map(({ subject }) => (subject.kind === "user" ? subject.userId : undefined))),
    devices: distinct(rows.map(({ subject }) => (subject.kind === "user" ? subject.deviceId : undefined))),
    sites: distinct(rows.map(({ subject }) => (subject.kind === "site" ? subject.gatewayId : undefined))),
    resources: distinct(rows.map(({ resourceId }) => resourceId)),
    internet: rows.some(({ resourceId }) => resourceId === undefined),
    pairs: rows.length,
  };
}

function grouped<Value>(values: readonly Value[], keyOf: (value: Value) => unknown): Iterable<Value[]> {
  const groups = new Map<string, Value[]>();
  for (const value of values) {
    const key = JSON.stringify(keyOf(value));
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups.values();
}

function allPages<Value>(pageOf: (page: Page) => readonly Value[], limit: number): readonly Value[] {
  const all: Value[] = [];
  for (let offset = 0; ; offset += limit) {
    const page = pageOf({ offset, limit });
    all.push(...page);
    if (page.length < limit) return all;
  }
}

function sortedIds(records: readonly { readonly id: string }[]): readonly string[] {
  return [...new Set(records.map(({ id }) => id))].sort();
}
