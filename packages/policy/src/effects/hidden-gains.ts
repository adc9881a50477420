import { parseIpRange, rangeContains } from "@gatehouse/addresses/ip-ranges";
import { policyTypes } from "@gatehouse/contract/records/policy";
import { offersOf, offersWithin } from "../model/address-directory.ts";
import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { FactChange, PolicyFacts, ResourceFacts } from "../model/facts.ts";
import type { Model } from "../model/model.ts";

import { mayAllow } from "./access-level.ts";
import { inputsOf, type RuleInputs } from "./open-rule.ts";
import { haveSameFacts } from "./same-facts.ts";

/**
 * Whether changes may give somebody access that no level shows: who has it in some circumstances may come to have it in others, and
 * who reaches a resource may come to reach more addresses or services of it. It is not said of fewer addresses, services, source
 * addresses or members, nor of deleting and deactivating what does not deny. The order of policies is left to the levels, and so are rules
 * that read no circumstances; behind a denial that depends on circumstances, these may hide what somebody gains there.
 *
 * @param changes all that make `after` of `before`
 */
export function mayHaveHiddenGains(before: Model, after: Model, changes: readonly FactChange[]): boolean {
  const rules = new Set(changes.flatMap((change) => (change.kind === "rule" ? [idOf(change)] : [])));
  const policies = new Set(changes.flatMap((change) => (change.kind === "policy" ? [idOf(change)] : [])));
  const isChanged = ({ facts }: CompiledPolicy) => policies.has(facts.id) || rules.has(facts.rule);
  const was = activePolicies(before, isChanged);
  const is = activePolicies(after, isChanged);
  if ([...new Set([...was.keys(), ...is.keys()])].some((id) => policyGains(was.get(id), is.get(id), before, after))) {
    return true;
  }
  const reads = readByOpenRules(after);
  return changes.some((change) => {
    if (change.kind === "policy-order" || "gone" in change) return false;
    switch (change.kind) {
      case "user": {
        const former = before.users.get(change.facts.id)?.facts;
        if (former === undefined || change.facts.status !== "active") return false;
        const joins = change.facts.groups.some((id) => !former.groups.includes(id));
        return joins || (reads.user && !haveSameFacts(former, change.facts));
      }
      case "device": {
        const former = before.devices.get(change.facts.id)?.facts;
        return former !== undefined && change.facts.active && reads.device && !haveSameFacts(former, change.facts);
      }
      // Rules read the names of a user's groups.
      case "group":
        return reads.user && before.groups.get(change.facts.id) !== undefined;
      case "resource": {
        const former = before.resources.get(change.facts.id)?.facts;
        return former !== undefined && resourceGains(former, change.facts, reads);
      }
      default:
        return false;
    }
  });
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

/** Levels may hide what is plain here: who already has access in some circumstances, through another policy, may come to have it in more. */
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
  // Where only one of them depends on circumstances, levels show which way it went.
  return isOpenIn(was, before) && isOpenIn(is, after) && !isNarrower(was, is, before, after);
}

const parts = [
  ["allUsers", "users"],
  ["allGroups", "groups"],
  ["allDevices", "devices"],
  ["allResources", "resources"],
] as const;

/** Whether another policy is about all that one is about. */
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

function readsOpen({ sourceIp, country, now }: RuleInputs): boolean {
  return sourceIp || country || now;
}

/** Of two admission rules, by what is plain: nobody can tell of two texts which of them more requests meet. */
function isNarrower(was: CompiledPolicy, is: CompiledPolicy, before: Model, after: Model): boolean {
  const [former, rule] = [was.ruleIn(before.rules)?.facts, is.ruleIn(after.rules)?.facts];
  return (
    former?.type === "ALLOW" || rule?.type === "DENY" || (former?.type === rule?.type && former?.text === rule?.text)
  );
}

/** @param outer none: any address */
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

function resourceGains(was: ResourceFacts, is: ResourceFacts, reads: { readonly resource: boolean }): boolean {
  if (was.type !== is.type || (reads.resource && was.name !== is.name)) return true;
  return is.addresses.some(({ address }) => !offersWithin(offersAt(is, address), offersAt(was, address)));
}

function offersAt(resource: ResourceFacts, address: string) {
  const own = resource.addresses.filter((entry) => entry.address === address);
  return offersOf({ ...resource, addresses: own });
}

/** What is read by the rules of active policies that also read circumstances. */
function readByOpenRules(model: Model): Readonly<Record<"user" | "device" | "resource", boolean>> {
  const reads = { user: false, device: false, resource: false };
  for (const policy of activePolicies(model, () => true).values()) {
    const rule = policy.ruleIn(model.rules);
    if (rule === undefined) continue;
    const reading = inputsOf(rule);
    // The policy's source addresses are such circumstances, too.
    if (!policy.hasSourceIps && !readsOpen(reading)) continue;
    reads.user ||= reading.user;
    reads.device ||= reading.device;
    reads.resource ||= reading.resource;
  }
  return reads;
}
