/** What a command did to access, as it is stored with it: counts are exact, names are the first of many. Pure. */
import type { AccessCounts, BrokenAccessTest, EffectGroup, EffectSummary } from "@gatehouse/contract/records/effect";
import type { AccessRow } from "@gatehouse/contract/records/preview";
import type { AccessDifference, AccessGroup, AccessSubject } from "@gatehouse/policy/effects/access-difference";
import type { Model } from "@gatehouse/policy/model/model";

const mostGroups = 100;
const mostNames = 20;

export function effectSummary(
  { gained, lost, groups }: AccessDifference,
  before: Model,
  after: Model,
  brokenTests: readonly BrokenAccessTest[],
): EffectSummary {
  const names = new Names(before, after);
  return {
    gained: countsOf(gained),
    lost: countsOf(lost),
    groupCount: groups.length,
    groups: groups.slice(0, mostGroups).map((group) => groupView(group, names)),
    brokenTests: [...brokenTests],
  };
}

/** Single changes of access: those of a page. */
export function accessRows(
  { rows }: AccessDifference,
  before: Model,
  after: Model,
  page: Parameters<AccessDifference["rows"]>[0],
): readonly AccessRow[] {
  const names = new Names(before, after);
  return rows(page).map(({ direction, before: was, after: is, subject, resourceId }) => ({
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

function groupView(group: AccessGroup, names: Names): EffectGroup {
  const { direction, before, after, resourceIds, subjectCount, internet } = group;
  return {
    change: direction,
    before,
    after,
    subjectCount,
    subjects: group.subjects({ offset: 0, limit: mostNames }).map((subject) => names.subject(subject)),
    resourceCount: resourceIds.length,
    resources: resourceIds.slice(0, mostNames).map((id) => ({ id, name: names.resource(id) })),
    internet,
  };
}

/** Names as they are now, or were while there was such a record. */
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
