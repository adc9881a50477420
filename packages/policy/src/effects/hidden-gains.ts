import { parseIpRange, rangeContains } from "@gatehouse/addresses/ip-ranges";
import { policyTypes } from "@gatehouse/contract/records/policy";
import { offersIn } from "../model/address-offers.ts";
import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { DeviceFacts, FactChange, PolicyFacts, ResourceFacts } from "../model/facts.ts";
import type { Model } from "../model/model.ts";
import { OfferRanges } from "../model/offer-ranges.ts";
import { haveSamePorts, portCount } from "../model/protocol-lists.ts";
import { entryCost, recordCost, type Work } from "../work.ts";
import { mayAllow } from "./access-level.ts";
import { inputsOf, type RuleInputs } from "./rule-inputs.ts";
import { haveSameFacts } from "./same-facts.ts";

/**
 * Whether changes may give a subject access that no level shows. A subject with access in some circumstances may gain
 * access in others. A subject that reaches a resource may gain more of its addresses or services.
 *
 * Reducing addresses, services, source addresses or members is not a gain, and neither is removing a policy that
 * allows. The order of policies, and rules that read no circumstances, are left to the levels. These changes may remain
 * undetected behind a denial that depends on circumstances.
 *
 * @param changes all changes that lead from `before` to `after`
 */
export function* mayHaveHiddenGains(before: Model, after: Model, changes: readonly FactChange[]): Work<boolean> {
  const rules = new Set(changes.flatMap((change) => (change.kind === "rule" ? [idOf(change)] : [])));
  const policies = new Set(changes.flatMap((change) => (change.kind === "policy" ? [idOf(change)] : [])));
  const isChanged = ({ facts }: CompiledPolicy) => policies.has(facts.id) || rules.has(facts.rule);
  const was = activePolicies(before, isChanged);
  const is = activePolicies(after, isChanged);
  if ([...new Set([...was.keys(), ...is.keys()])].some((id) => policyGains(was.get(id), is.get(id), before, after))) {
    return true;
  }
  const reads = readByOpenRules(after);
  for (const change of changes) {
    yield recordCost;
    if (change.kind === "policy-order" || "gone" in change) continue;
    if (change.kind === "resource") {
      const former = before.resources.get(change.facts.id)?.facts;
      if (former !== undefined && (yield* resourceGains(former, change.facts, reads))) return true;
    } else if (hasGains(change, before, reads)) return true;
  }
  return false;
}

/** Whether a changed user, device or group may have gains. */
function hasGains(change: Extract<FactChange, { readonly facts: unknown }>, before: Model, reads: OpenReads): boolean {
  switch (change.kind) {
    case "user": {
      const former = before.users.get(change.facts.id)?.facts;
      if (former === undefined || change.facts.status !== "active") return false;
      const joins = change.facts.groups.some((id) => !former.groups.includes(id));
      return joins || (reads.user && !haveSameFacts(former, change.facts));
    }
    case "device": {
      const former = before.devices.get(change.facts.id)?.facts;
      return former !== undefined && change.facts.active && reads.device && deviceGains(former, change.facts, reads);
    }
    // Rules read the names of a user's groups.
    case "group":
      return reads.user && before.groups.get(change.facts.id) !== undefined;
    default:
      return false;
  }
}

function idOf(change: Exclude<FactChange, { readonly kind: "policy-order" }>): string {
  return "gone" in change ? change.gone : change.facts.id;
}

function activePolicies(
  { policies }: Model,
  isAsked: (policy: CompiledPolicy) => boolean,
): ReadonlyMap<string, CompiledPolicy> {
  const asked = policyTypes.flatMap((type) =>
    policies[type].policies.filter((policy) => policy.facts.active && isAsked(policy)),
  );
  return new Map(asked.map((policy) => [policy.facts.id, policy]));
}

/**
 * Whether a changed policy may give more access. A subject that already has access in some circumstances through
 * another policy may gain more, and its level stays the same.
 */
function policyGains(
  was: CompiledPolicy | undefined,
  is: CompiledPolicy | undefined,
  before: Model,
  after: Model,
): boolean {
  if (was !== undefined && !mayAllow(was)) {
    return is === undefined || mayAllow(is) || !isWithin(was.facts, is.facts);
  }
  if (is === undefined || !mayAllow(is)) return false;
  if (was === undefined || !isWithin(is.facts, was.facts)) return true;
  // If only one of the two depends on circumstances, the levels show the gain.
  return isOpenIn(was, before) && isOpenIn(is, after) && !isNarrower(was, is, before, after);
}

const parts = [
  ["allUsers", "users"],
  ["allGroups", "groups"],
  ["allDevices", "devices"],
  ["allResources", "resources"],
] as const;

/** Whether the outer policy covers everything that the inner policy covers. */
function isWithin(inner: PolicyFacts, outer: PolicyFacts): boolean {
  return (
    sourcesWithin(inner.sourceIps, outer.sourceIps) &&
    parts.every(([all, list]) => {
      if (outer[all]) return true;
      const known = new Set(outer[list]);
      return !inner[all] && inner[list].every((id) => known.has(id));
    })
  );
}

function isOpenIn(policy: CompiledPolicy, { rules }: Model): boolean {
  if (policy.hasSourceIps) return true;
  const rule = policy.ruleIn(rules);
  return rule !== undefined && readsOpen(inputsOf(rule));
}

function readsSession({ paths }: RuleInputs): boolean {
  return paths === undefined || paths.some(({ variable }) => variable === "session");
}

function readsOpen({ sourceIp, country, now }: RuleInputs): boolean {
  return sourceIp || country || now;
}

/** Whether the new rule is certainly no wider than the former one. Two different texts cannot be compared. */
function isNarrower(was: CompiledPolicy, is: CompiledPolicy, before: Model, after: Model): boolean {
  const [former, rule] = [was.ruleIn(before.rules)?.facts, is.ruleIn(after.rules)?.facts];
  return (
    former?.type === "ALLOW" || rule?.type === "DENY" || (former?.type === rule?.type && former?.text === rule?.text)
  );
}

/** @param outer empty for any address */
function sourcesWithin(inner: readonly string[], outer: readonly string[]): boolean {
  if (outer.length === 0) return true;
  const ranges = rangesOf(outer);
  return inner.length > 0 && rangesOf(inner).every((range) => ranges.some((wider) => rangeContains(wider, range)));
}

function rangesOf(texts: readonly string[]) {
  return texts.flatMap((text) => {
    const reading = parseIpRange(text);
    return reading.ok ? [reading.value] : [];
  });
}

function* resourceGains(was: ResourceFacts, is: ResourceFacts, reads: OpenReads): Work<boolean> {
  if (was.type !== is.type || (reads.resource && was.name !== is.name)) return true;
  const former = new Map(was.addresses.map(({ address, protocols }) => [address, protocols]));
  for (const { address, protocols } of is.addresses) {
    const known = former.get(address) ?? [];
    yield (1 + portCount(protocols) + portCount(known)) * offerCost;
    if (haveSamePorts(protocols, known)) continue;
    if (!new OfferRanges(offersIn(known).flat()).cover(offersIn(protocols).flat())) return true;
  }
  return false;
}

/** The cost of sorting and finding an offer. */
const offerCost = 4 * entryCost;

/** Whether the changes only end sessions of devices. */
export function onlyEndSessions(before: Model, changes: readonly FactChange[]): boolean {
  return changes.every((change) => {
    if (change.kind !== "device" || "gone" in change || hasSession(change.facts)) return false;
    const former = before.devices.get(change.facts.id)?.facts;
    return former !== undefined && haveSameFacts({ ...former, ...noSession }, { ...change.facts, ...noSession });
  });
}

const noEnd = { sessionEndsAt: null };
const noSession = { session: null, ...noEnd };

/**
 * Whether rules that read the device may give more access. Without a session, no rule that reads the session is met.
 * The end of a session is therefore a gain only if such a rule restricts access. An earlier end by time is not a gain.
 */
function deviceGains(was: DeviceFacts, is: DeviceFacts, { restriction }: { readonly restriction: boolean }): boolean {
  if (hasSession(was) && !hasSession(is)) {
    return restriction || !haveSameFacts({ ...was, ...noSession }, { ...is, ...noSession });
  }
  return endOf(is) > endOf(was) || !haveSameFacts({ ...was, ...noEnd }, { ...is, ...noEnd });
}

function hasSession({ session }: DeviceFacts): boolean {
  return session !== undefined && session !== null;
}

function endOf({ sessionEndsAt }: DeviceFacts): number {
  return sessionEndsAt ?? Number.POSITIVE_INFINITY;
}

type OpenReads = Readonly<Record<"user" | "device" | "resource" | "restriction", boolean>>;

/**
 * The inputs of rules in active policies whose result also depends on circumstances, and whether any rule that
 * restricts access reads the session.
 */
function readByOpenRules(model: Model): OpenReads {
  const reads = { user: false, device: false, resource: false, restriction: false };
  for (const policy of activePolicies(model, () => true).values()) {
    const rule = policy.ruleIn(model.rules);
    if (rule === undefined) continue;
    const reading = inputsOf(rule);
    reads.restriction ||= !mayAllow(policy) && readsSession(reading);
    // A restriction of source addresses also depends on circumstances.
    if (!policy.hasSourceIps && !readsOpen(reading)) continue;
    reads.user ||= reading.user;
    reads.device ||= reading.device;
    reads.resource ||= reading.resource;
  }
  return reads;
}
