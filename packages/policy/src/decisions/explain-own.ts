/**
 * Explains to a person why a resource cannot be reached. Considers only policies that the person is a source of:
 * policies for others say nothing to the person, and their names and members are confidential.
 */
import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import type { Principal } from "../model/principal.ts";
import { sortingBy } from "../sorting.ts";
import { policyCost, recordCost, type Work } from "../work.ts";
import { deciding, policyTypeFor } from "./decide.ts";
import type { Decision, DecisionReason } from "./decision.ts";
import { hypotheticalPrincipal } from "./explain.ts";
import { type MissingFact, missingFacts } from "./missing-facts.ts";
import { findingNextChange } from "./next-change.ts";
import { tracePolicy } from "./policy-trace.ts";
import type { AccessRequest } from "./request.ts";
import { resolveDestination } from "./resolve-destination.ts";

export interface OwnExplanation {
  readonly decision: Decision;
  /** Undefined if no policy gives the person access to the destination in any circumstances. */
  readonly resource?: CompiledResource;
  /** Why the device, or the person, may reach nothing. */
  readonly subject?: DecisionReason;
  /** The smallest set of facts that a policy for the person lacks. Empty if access is denied nevertheless. */
  readonly missing: readonly MissingFact[];
  /** When access begins or ends next because time passes, in milliseconds since 1970. Absent if none was found. */
  readonly changesAt?: number;
}

/** Explains one request of a person, as work that can be suspended between two policies. */
export function* explainingOwn(
  model: Model,
  request: AccessRequest,
  ownDevices: readonly string[],
): Work<OwnExplanation> {
  const decision = yield* deciding(model, request);
  const explanation = yield* explainingDecision(model, request, ownDevices, decision);
  const changesAt = yield* findingNextChange(model, request, decision);
  return changesAt === undefined ? explanation : { ...explanation, changesAt };
}

/**
 * Explains a decision about a request of a person, like `explainingOwn`.
 *
 * @param decision the decision; it may consider source addresses other than the request's
 */
export function* explainingDecision(
  model: Model,
  request: AccessRequest,
  ownDevices: readonly string[],
  decision: Decision,
): Work<OwnExplanation> {
  const { resource, denied } = resolveDestination(model, request.destination);
  const { principal, reason: subject } = hypotheticalPrincipal(model, request);
  if (resource === undefined || denied !== undefined || principal === undefined) return { decision, missing: [] };
  if (decision.allowed) return { decision, resource, missing: [] };
  let best: readonly MissingFact[] | undefined;
  for (const policy of yield* policiesFor(model, principal, resource, ownDevices)) {
    const trace = yield* tracePolicy(policy, { model, request, principal, resource });
    const missing = missingFacts(policy, trace);
    if (missing.some(({ kind }) => kind === "never")) continue;
    if (best === undefined || missing.length < best.length) best = missing;
  }
  if (best === undefined) return { decision, missing: [] };
  return { decision, resource, missing: best, ...(subject === undefined ? {} : { subject }) };
}

/** A resource of a person, and the decision for it. */
export interface OwnAccess {
  readonly resource: CompiledResource;
  readonly decision: Decision;
}

/**
 * The resources that a person can reach, and those that a policy for the person concerns in other circumstances, in the
 * order of their names.
 */
export function* ownAccess(
  model: Model,
  { subject, ...circumstances }: Omit<AccessRequest, "destination">,
  ownDevices: readonly string[],
): Work<readonly OwnAccess[]> {
  const { principal } = hypotheticalPrincipal(model, { subject, now: circumstances.now });
  if (principal === undefined) return [];
  const everywhere = new Map<string, boolean>();
  const found: { readonly access: OwnAccess; readonly name: string }[] = [];
  for (const resource of model.resources.values()) {
    const destination = { kind: "resource", resourceId: resource.id } as const;
    const decision = yield* deciding(model, { ...circumstances, subject, destination });
    if (!decision.allowed && !(yield* concerns(resource))) continue;
    yield recordCost + resource.decodingCost;
    found.push({ access: { resource, decision }, name: resource.facts.name.toLowerCase() });
  }
  return (yield* sortingBy(byName, found)).map(({ access }) => access);

  function* concerns(resource: CompiledResource): Work<boolean> {
    const list = model.policies[resource.type];
    const known = everywhere.get(list.type);
    const isEverywhere = known ?? (yield* isForAny(list.everywhere.policies));
    everywhere.set(list.type, isEverywhere);
    return isEverywhere || (yield* isForAny(resource.policiesIn(list)?.policies ?? []));
  }

  function* isForAny(policies: readonly CompiledPolicy[]): Work<boolean> {
    yield policyCost * policies.length;
    return principal !== undefined && policies.some((policy) => isForPerson(policy, principal, ownDevices));
  }
}

function byName(a: { readonly name: string; readonly access: OwnAccess }, b: typeof a): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.access.resource.id < b.access.resource.id ? -1 : 1;
}

/** The active policies that allow the person, or one of the person's devices, to reach the resource. */
function* policiesFor(
  model: Model,
  principal: Principal,
  resource: CompiledResource,
  ownDevices: readonly string[],
): Work<readonly CompiledPolicy[]> {
  const type = policyTypeFor(principal, resource);
  if (type === undefined) return [];
  const list = model.policies[type];
  const concerned = [...list.everywhere.policies, ...(resource.policiesIn(list)?.policies ?? [])];
  yield policyCost * concerned.length;
  return concerned.filter((policy) => isForPerson(policy, principal, ownDevices));
}

function isForPerson(policy: CompiledPolicy, principal: Principal, ownDevices: readonly string[]): boolean {
  const { action, mode, allDevices } = policy.facts;
  if (!action || mode === "RESTRICTED") return false;
  return policy.appliesTo(principal) || allDevices || ownDevices.some((id) => policy.devices.has(id));
}
