/** The effect of a command on access, as it is stored: counts are exact, and the first names are listed. Pure. */
import type { AccessCounts, BrokenAccessTest, EffectGroup, EffectSummary } from "@gatehouse/contract/records/effect";
import type { AccessRow } from "@gatehouse/contract/records/preview";
import type { AccessDifference, AccessGroup, AccessSubject } from "@gatehouse/policy/effects/access-difference";
import type { Model } from "@gatehouse/policy/model/model";
import type { Work } from "@gatehouse/policy/work";

const mostGroups = 100;
const mostNames = 20;

export function* effectSummary(
  { gained, lost, groups }: AccessDifference,
  before: Model,
  after: Model,
  brokenTests: readonly BrokenAccessTest[],
): Work<EffectSummary> {
  const names = new Names(before, after);
  const shown: EffectGroup[] = [];
  for (const group of groups.slice(0, mostGroups)) shown.push(yield* groupView(group, names));
  return {
    gained: countsOf(gained),
    lost: countsOf(lost),
    groupCount: groups.length,
    groups: shown,
    brokenTests: [...brokenTests],
  };
}

/** One page of single changes of access. */
export function* accessRows(
  { rows }: AccessDifference,
  before: Model,
  after: Model,
  page: Parameters<AccessDifference["rows"]>[0],
): Work<readonly AccessRow[]> {
  const names = new Names(before, after);
  return (yield* rows(page)).map(({ direction, before: was, after: is, subject, resourceId }) => ({
    change: direction,
    before: was,
    after: is,
    subject: names.subject(subject),
    ...(resourceId === undefined ? {} : { resource: { id: resourceId, name: names.resource(resourceId) } }),
  }));
}

function countsOf({ users, devices, sites, resources, internet, pairs }: AccessDifference["gained"]): AccessCounts {
  return { users, devices, sites, resources, internet, pairs };
}

function* groupView(group: AccessGroup, names: Names): Work<EffectGroup> {
  const { direction, before, after, resourceIds, subjectCount, internet } = group;
  const subjects = yield* group.subjects({ offset: 0, limit: mostNames });
  return {
    change: direction,
    before,
    after,
    subjectCount,
    subjects: subjects.map((subject) => names.subject(subject)),
    resourceCount: resourceIds.length,
    resources: resourceIds.slice(0, mostNames).map((id) => ({ id, name: names.resource(id) })),
    internet,
  };
}

/** Current names; former names of deleted records. */
class Names {
  readonly #models: readonly [after: Model, before: Model];

  constructor(before: Model, after: Model) {
    this.#models = [after, before];
  }

  subject(subject: AccessSubject): EffectGroup["subjects"][number] {
    if (subject.kind === "site") {
      const id = subject.gatewayId;
      return { kind: "site", id, name: this.#first((model) => model.gateways.get(id)?.name) };
    }
    const { userId, deviceId } = subject;
    const email = this.#first((model) => model.users.get(userId)?.facts.email);
    if (deviceId === undefined) return { kind: "user", id: userId, name: email };
    const name = this.#first((model) => model.devices.get(deviceId)?.facts.name);
    return { kind: "device", id: deviceId, name, user: { id: userId, name: email } };
  }

  resource(id: string): string {
    return this.#first((model) => model.resources.get(id)?.facts.name);
  }

  #first(nameIn: (model: Model) => string | undefined): string {
    const [after, before] = this.#models;
    return nameIn(after) ?? nameIn(before) ?? "";
  }
}
