import { setImmediate as turn } from "node:timers/promises";
import type * as operations from "@gatehouse/contract/operations/access.operations";
import {
  type AccessFindings,
  type IdlePolicyFinding,
  maxFindings,
  type UnreachableResourceFinding,
} from "@gatehouse/contract/records/access-findings";
import { idlePolicies } from "@gatehouse/policy/findings/idle-policies";
import { PossibleSources } from "@gatehouse/policy/findings/possible-sources";
import { unreachableResources } from "@gatehouse/policy/findings/unreachable-resources";
import type { Model } from "@gatehouse/policy/model/model";
import type { Call } from "../../../platform/call.ts";
import { type Outcome, report } from "../../../platform/outcome.ts";

/** After so many steps other requests have a turn; after so many in all, what is left is not looked at. */
const stepsInATurn = 500;
const mostSteps = 200_000;

export async function findAccessFindings(call: Call<typeof operations.findAccessFindings>): Promise<Outcome> {
  const { generation, model } = await call.model();
  let steps = 0;
  /** @returns whether to go on */
  const step = async (): Promise<boolean> => {
    steps += 1;
    if (steps % stepsInATurn === 0) await turn();
    return steps < mostSteps;
  };
  const sources = new PossibleSources(model);
  const policies = await neverMatchingPolicies(model, sources, call.now.getTime(), step);
  const { idle, ...neverMatching } = policies;
  const unreachable = await unreachableOf(model, sources, idle, step);
  const body: AccessFindings = {
    generation,
    unreachableResources: unreachable,
    neverMatchingPolicies: neverMatching,
  };
  return report(body);
}

async function neverMatchingPolicies(
  model: Model,
  sources: PossibleSources,
  now: number,
  step: () => Promise<boolean>,
): Promise<AccessFindings["neverMatchingPolicies"] & { readonly idle: ReadonlySet<string> }> {
  const idle = new Set<string>();
  const first: IdlePolicyFinding[] = [];
  let lookedAt = 0;
  for (const found of idlePolicies(model, sources, now)) {
    lookedAt += 1;
    if (found !== undefined) {
      const { policy, reason, by } = found;
      idle.add(policy.facts.id);
      const { type } = policy.facts;
      const hiddenBy = by === undefined ? {} : { hiddenBy: by.named };
      if (first.length < maxFindings) first.push({ ...policy.named, type, reason, ...hiddenBy });
    }
    if (!(await step())) break;
  }
  const active = Object.values(model.policies).map(
    ({ policies }) => policies.filter(({ facts }) => facts.active && !facts.isDefault).length,
  );
  return { idle, first, count: idle.size, lookedAt, total: active.reduce((sum, count) => sum + count, 0) };
}

async function unreachableOf(
  model: Model,
  sources: PossibleSources,
  idle: ReadonlySet<string>,
  step: () => Promise<boolean>,
): Promise<AccessFindings["unreachableResources"]> {
  const first: UnreachableResourceFinding[] = [];
  // Gateways come back; what was set up wrong stays wrong, and is told first.
  const offline: UnreachableResourceFinding[] = [];
  let count = 0;
  let lookedAt = 0;
  for (const found of unreachableResources(model, sources, idle)) {
    if (found !== "policy") lookedAt += 1;
    if (typeof found === "object") {
      count += 1;
      const list = found.reason === "gateways_offline" ? offline : first;
      if (list.length < maxFindings) list.push({ ...found.resource.named, reason: found.reason });
    }
    if (!(await step())) break;
  }
  let total = 0;
  for (const { type } of model.resources.values()) if (type !== "INTERNET") total += 1;
  return { first: [...first, ...offline].slice(0, maxFindings), count, lookedAt, total };
}
