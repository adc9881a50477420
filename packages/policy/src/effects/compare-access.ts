import type { FactChange } from "../model/facts.ts";
import { devicesByUser } from "../model/members.ts";
import type { Model } from "../model/model.ts";
import type {
  AccessCounts,
  AccessDifference,
  AccessGroup,
  AccessRow,
  AccessSubject,
  Page,
} from "./access-difference.ts";
import { type AccessLevel, accessLevel } from "./access-level.ts";
import type { OpenCircumstances } from "./open-circumstances.ts";

/**
 * Who gains and who loses access to what. Subjects are each user without a device and with each of theirs, and each gateway as a site;
 * destinations are each resource, and the internet as far as it is no resource.
 *
 * @param changes all that make `after` of `before`: only what they can touch is looked at
 */
export function compareAccess(
  before: Model,
  after: Model,
  _changes: readonly FactChange[],
  circumstances: OpenCircumstances,
): AccessDifference {
  const destinations = [...idsOf([...before.resources.values(), ...after.resources.values()]), undefined];
  const subjects = subjectsOf(before, after);
  const rows = destinations.flatMap((resourceId) =>
    subjects.flatMap((subject) => {
      const [was, is] = [before, after].map((model) => levelOf(model, subject, resourceId, circumstances));
      if (was === undefined || is === undefined || was === is) return [];
      const direction = ranks[was] < ranks[is] ? ("gained" as const) : ("lost" as const);
      return [{ direction, before: was, after: is, subject, ...(resourceId === undefined ? {} : { resourceId }) }];
    }),
  );
  return differenceOf(rows);
}

const ranks: Readonly<Record<AccessLevel, number>> = { never: 0, sometimes: 1, always: 2 };

function levelOf(
  model: Model,
  subject: AccessSubject,
  resourceId: string | undefined,
  circumstances: OpenCircumstances,
): AccessLevel {
  if (resourceId !== undefined) return accessLevel(model, subject, { kind: "resource", resourceId }, circumstances);
  // No resource has an address in the domain that is reserved for being nowhere.
  return accessLevel(model, subject, { kind: "address", address: "nowhere.invalid" }, circumstances);
}

function subjectsOf(before: Model, after: Model): readonly AccessSubject[] {
  const devices = [before, after].map((model) => devicesByUser(model.devices));
  const users = idsOf([...before.users.values(), ...after.users.values()]).flatMap((userId) => {
    const owned = idsOf(devices.flatMap((byUser) => byUser.get(userId) ?? []));
    return [
      { kind: "user" as const, userId },
      ...owned.map((deviceId) => ({ kind: "user" as const, userId, deviceId })),
    ];
  });
  const gateways = [...before.gateways.values(), ...after.gateways.values()].map((facts) => ({ facts }));
  return [...users, ...idsOf(gateways).map((gatewayId) => ({ kind: "site" as const, gatewayId }))];
}

function idsOf(records: readonly { readonly facts: { readonly id: string } }[]): readonly string[] {
  return [...new Set(records.map(({ facts }) => facts.id))].sort();
}

function differenceOf(all: readonly AccessRow[]): AccessDifference {
  const rows = [
    ...all.filter(({ direction }) => direction === "gained"),
    ...all.filter(({ direction }) => direction === "lost"),
  ];
  const gained = rows.filter(({ direction }) => direction === "gained");
  const byDestination = grouped(rows, (row) => JSON.stringify([row.direction, row.before, row.after, row.resourceId]));
  const alike = grouped(byDestination.values(), (these) => {
    const [{ direction, before, after }] = these as [AccessRow];
    return JSON.stringify([direction, before, after, these.map(({ subject }) => subject)]);
  });
  const groups = [...alike.values()].map((lists): AccessGroup => {
    const own = lists.flat();
    const [{ direction, before, after }] = own as [AccessRow];
    const subjects = (lists[0] ?? []).map(({ subject }) => subject);
    return {
      direction,
      before,
      after,
      ...countsOf(own),
      resourceIds: own.length === 0 ? [] : [...new Set(own.flatMap(({ resourceId }) => resourceId ?? []))],
      subjectCount: subjects.length,
      subjects: ({ offset, limit }) => subjects.slice(offset, offset + limit),
    };
  });
  const order = (group: AccessGroup) => (group.direction === "gained" ? 0 : 1);
  return {
    gained: countsOf(gained),
    lost: countsOf(rows.slice(gained.length)),
    groups: groups.sort(
      (a, b) =>
        order(a) - order(b) ||
        b.pairs - a.pairs ||
        rows.findIndex(({ resourceId }) => resourceId === a.resourceIds[0]) -
          rows.findIndex(({ resourceId }) => resourceId === b.resourceIds[0]) ||
        ranks[a.before] - ranks[b.before] ||
        ranks[a.after] - ranks[b.after],
    ),
    rows: ({ offset, limit }: Page) => rows.slice(offset, offset + limit),
  };
}

function countsOf(rows: readonly AccessRow[]): AccessCounts {
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

function grouped<Value>(values: Iterable<Value>, keyOf: (value: Value) => string): Map<string, Value[]> {
  const groups = new Map<string, Value[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}
