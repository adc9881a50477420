import type * as operations from "@gatehouse/contract/operations/access.operations";
import {
  type AccessFindings,
  type ClosedAddressFinding,
  type DivertedAddressFinding,
  type IdlePolicyFinding,
  maxFindings,
  type UnreachableResourceFinding,
} from "@gatehouse/contract/records/access-findings";
import { closedAddresses } from "@gatehouse/policy/findings/closed-addresses";
import { divertedAddresses } from "@gatehouse/policy/findings/diverted-addresses";
import { idlePolicies } from "@gatehouse/policy/findings/idle-policies";
import { PossibleSources } from "@gatehouse/policy/findings/possible-sources";
import { unreachableResources } from "@gatehouse/policy/findings/unreachable-resources";
import type { CompiledResource } from "@gatehouse/policy/model/compiled-resource";
import type { Model } from "@gatehouse/policy/model/model";
import { recordCost, recordsAtOnce, type Work } from "@gatehouse/policy/work";
import type { Call } from "../../../platform/call.ts";
import { type Outcome, report } from "../../../platform/outcome.ts";

/** The number of steps after which the analysis stops. */
const mostSteps = 200_000;

/** The cost of a step. A step evaluates at most one rule. */
const stepCost = 500;

export async function findAccessFindings(call: Call<typeof operations.findAccessFindings>): Promise<Outcome> {
  const { generation, model } = await call.model();
  const findings = await call.evaluate("The analysis of all policies", findingsIn(model, call.now.getTime()));
  const body: AccessFindings = { generation, ...findings };
  return report(body);
}

function* findingsIn(model: Model, now: number): Work<Omit<AccessFindings, "generation">> {
  let steps = 0;
  /** @returns whether to continue */
  const step = function* (): Work<boolean> {
    steps += 1;
    yield stepCost;
    return steps < mostSteps;
  };
  const sources = new PossibleSources(model);
  const { idle, ...neverMatching } = yield* neverMatchingPolicies(model, sources, now, step);
  const unreachable = yield* unreachableOf(model, sources, idle, step);
  const closed = yield* closedAddressesOf(model, step);
  return {
    unreachableResources: unreachable,
    neverMatchingPolicies: neverMatching,
    closedAddresses: closed,
    divertedAddresses: yield* divertedAddressesOf(model, step),
  };
}

function* divertedAddressesOf(model: Model, step: () => Work<boolean>): Work<AccessFindings["divertedAddresses"]> {
  const first: DivertedAddressFinding[] = [];
  let count = 0;
  let lookedAt = 0;
  for (const found of divertedAddresses(model)) {
    if (typeof found === "number") {
      yield found;
    } else if (found === "address") {
      lookedAt += 1;
      if (!(yield* step())) break;
    } else {
      count += 1;
      const { resource, address, routedFor } = found;
      if (first.length < maxFindings) first.push({ resource: resource.named, address, routedFor: routedFor.named });
    }
  }
  const total = yield* sumOver(model, ({ type, facts }) => (type === "INTERNET" ? 0 : facts.addresses.length));
  return { first, count, lookedAt, total };
}

function* closedAddressesOf(model: Model, step: () => Work<boolean>): Work<AccessFindings["closedAddresses"]> {
  const first: ClosedAddressFinding[] = [];
  let count = 0;
  let lookedAt = 0;
  for (const found of closedAddresses(model)) {
    if (typeof found === "number") {
      yield found;
      continue;
    }
    lookedAt += 1;
    if (found !== "address") {
      count += 1;
      const { resource, address, block } = found;
      if (first.length < maxFindings) first.push({ resource: resource.named, address, block });
    }
    if (!(yield* step())) break;
  }
  const total = yield* sumOver(model, ({ type, facts }) => (type === "PRIVATE" ? facts.addresses.length : 0));
  return { first, count, lookedAt, total };
}

function* neverMatchingPolicies(
  model: Model,
  sources: PossibleSources,
  now: number,
  step: () => Work<boolean>,
): Work<AccessFindings["neverMatchingPolicies"] & { readonly idle: ReadonlySet<string> }> {
  const idle = new Set<string>();
  const first: IdlePolicyFinding[] = [];
  let lookedAt = 0;
  for (const found of idlePolicies(model, sources, now)) {
    if (typeof found === "number") {
      yield found;
      continue;
    }
    lookedAt += 1;
    if (found !== undefined) {
      const { policy, reason, by } = found;
      idle.add(policy.facts.id);
      const { type } = policy.facts;
      const hiddenBy = by === undefined ? {} : { hiddenBy: by.named };
      if (first.length < maxFindings) first.push({ ...policy.named, type, reason, ...hiddenBy });
    }
    if (!(yield* step())) break;
  }
  const active = Object.values(model.policies).map(
    ({ policies }) => policies.filter(({ facts }) => facts.active && !facts.isDefault).length,
  );
  return { idle, first, count: idle.size, lookedAt, total: active.reduce((sum, count) => sum + count, 0) };
}

function* unreachableOf(
  model: Model,
  sources: PossibleSources,
  idle: ReadonlySet<string>,
  step: () => Work<boolean>,
): Work<AccessFindings["unreachableResources"]> {
  const first: UnreachableResourceFinding[] = [];
  // Unreachable gateways come back by themselves; a misconfiguration does not, so report it first.
  const offline: UnreachableResourceFinding[] = [];
  let count = 0;
  let lookedAt = 0;
  for (const found of unreachableResources(model, sources, idle)) {
    if (typeof found === "number") {
      yield found;
      continue;
    }
    if (found !== "policy") lookedAt += 1;
    if (typeof found === "object") {
      count += 1;
      const list = found.reason === "gateways_offline" ? offline : first;
      if (list.length < maxFindings) list.push({ ...found.resource.named, reason: found.reason });
    }
    if (!(yield* step())) break;
  }
  const total = yield* sumOver(model, ({ type }) => (type === "INTERNET" ? 0 : 1));
  return { first: [...first, ...offline].slice(0, maxFindings), count, lookedAt, total };
}

/** Adds up a number of each resource. */
function* sumOver(model: Model, numberOf: (resource: CompiledResource) => number): Work<number> {
  let sum = 0;
  let unpaid = 0;
  for (const resource of model.resources.values()) {
    unpaid += recordCost + resource.decodingCost;
    sum += numberOf(resource);
    if (unpaid < recordsAtOnce * recordCost) continue;
    yield unpaid;
    unpaid = 0;
  }
  yield unpaid;
  return sum;
}
