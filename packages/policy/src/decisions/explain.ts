import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { Model } from "../model/model.ts";
import type { Principal } from "../model/principal.ts";
import { finish, type Work } from "../work.ts";
import { deciding, hasEnded, policyTypeFor } from "./decide.ts";
import type { Decision, DecisionReason, Named } from "./decision.ts";
import { type DivertedAddress, findingDivertedAddresses } from "./diverted-addresses.ts";
import { type MissingFact, missingFacts } from "./missing-facts.ts";
import { findingNextChange } from "./next-change.ts";
import { type PolicyTrace, tracePolicy } from "./policy-trace.ts";
import type { AccessRequest } from "./request.ts";
import { resolveDestination } from "./resolve-destination.ts";
import { resolvePrincipal } from "./resolve-principal.ts";
import { type SharedAddress, sharedAddressesAt } from "./shared-addresses.ts";

/** The smallest set of missing facts for a denied request, and the policy that would allow it with these facts. */
export interface NearestMiss {
  /** Absent if only a fact about the subject or the destination is missing. */
  readonly policy?: Named;
  readonly missing: readonly MissingFact[];
}

export interface Explanation {
  readonly decision: Decision;
  /** Every evaluated policy of the list, in the order of evaluation. */
  readonly policies: readonly PolicyTrace[];
  /** Set for a denial if a change of facts, other than a new policy, would allow the request. */
  readonly nearestMiss?: NearestMiss;
  /** When access begins or ends next because time passes, in milliseconds since 1970. Absent if none was found. */
  readonly changesAt?: number;
  /** Addresses of the destination that several resources have. */
  readonly sharedAddresses: readonly SharedAddress[];
  /** Addresses of the allowed destination whose packets go to a gateway that does not carry the destination. */
  readonly divertedAddresses: readonly DivertedAddress[];
}

/** Explains a decision. Slower than `decide`, and always consistent with it. */
export function explain(model: Model, request: AccessRequest): Explanation {
  return finish(explaining(model, request));
}

/** Explains a decision, as work that can be suspended between two parts of a rule. */
export function* explaining(model: Model, request: AccessRequest): Work<Explanation> {
  const decision = yield* deciding(model, request);
  const { principal, reason } = hypotheticalPrincipal(model, request);
  const reached = resolveDestination(model, request.destination);
  const resource = reached.resource;
  const type = principal === undefined ? undefined : policyTypeFor(principal, resource);
  if (principal === undefined || type === undefined || (reached.denied !== undefined && resource === undefined)) {
    return { decision, policies: [], sharedAddresses: [], divertedAddresses: [] };
  }
  const input = { model, request, principal, resource };
  const traces: PolicyTrace[] = [];
  for (const policy of model.policies[type].policies) traces.push(yield* tracePolicy(policy, input));
  const policies = decided(traces, reason === undefined && reached.denied === undefined);
  const next = yield* findingNextChange(model, request, decision);
  const diverted = yield* findingDivertedAddresses(model, request, decision, (other) => deciding(model, other));
  const more = {
    ...(next === undefined ? {} : { changesAt: next }),
    sharedAddresses: yield* sharedAddressesAt(model, request.destination),
    divertedAddresses: diverted.listed,
  };
  if (decision.allowed) return { decision, policies, ...more };
  const first: MissingFact[] = [];
  if (reason !== undefined) first.push({ kind: "subject", reason });
  if (reached.denied !== undefined) first.push({ kind: "destination", reason: reached.denied });
  const nearestMiss = nearest(traces, model.policies[type].policies, first);
  return { decision, policies, ...more, ...(nearestMiss === undefined ? {} : { nearestMiss }) };
}

/** Resolves the principal. If the subject may reach nothing, returns the principal as if it could, and the reason. */
export function hypotheticalPrincipal(
  model: Model,
  { subject, now }: Pick<AccessRequest, "subject" | "now">,
): { readonly principal?: Principal; readonly reason?: DecisionReason } {
  const principal = resolvePrincipal(model, subject);
  if (typeof principal !== "string") {
    return hasEnded(principal, now) ? { principal, reason: "device_session_ended" } : { principal };
  }
  if (subject.kind === "site") return { reason: principal };
  const device = subject.deviceId === undefined ? undefined : model.devices.get(subject.deviceId);
  const userId = subject.kind === "user" ? subject.userId : device?.userId;
  const user = userId === undefined || userId === null ? undefined : model.users.get(userId);
  const isKnown = principal === "user_inactive" || principal === "user_pending" || principal === "device_inactive";
  if (!isKnown || user === undefined) return { reason: principal };
  const ofUser = user.principalIn(model.groups);
  return { principal: device === undefined ? ofUser : ofUser.with(device.facts), reason: principal };
}

/** Marks the policies after the deciding one as not asked. If no policy was evaluated, marks all of them. */
function decided(traces: readonly PolicyTrace[], asked: boolean): readonly PolicyTrace[] {
  const first = asked ? traces.findIndex(({ outcome }) => outcome === "decided") : -1;
  if (first < 0) return asked ? traces : traces.map((trace) => ({ ...trace, outcome: "not_asked" }));
  return traces.map((trace, index) => (index > first ? { ...trace, outcome: "not_asked" } : trace));
}

/**
 * The allowing policy with the fewest missing facts. Ties go to the policy that comes first.
 *
 * @param first facts that are missing before any policy is evaluated
 */
function nearest(
  traces: readonly PolicyTrace[],
  policies: readonly CompiledPolicy[],
  first: readonly MissingFact[],
): NearestMiss | undefined {
  let best: NearestMiss | undefined;
  /** Denials so far. They come before any policy that would allow the request. */
  const denials: MissingFact[] = [];
  for (const [index, trace] of traces.entries()) {
    const policy = policies[index];
    if (policy === undefined || trace.outcome === "inactive" || !trace.destinationMet) continue;
    const missing = missingFacts(policy, trace);
    if (!policy.facts.action || policy.facts.mode === "RESTRICTED") {
      if (missing.length === 0) denials.push({ kind: "denied-by", policy: policy.named });
      continue;
    }
    if (missing.some(({ kind }) => kind === "never")) continue;
    const all = [...first, ...denials, ...missing];
    if (all.length > 0 && (best === undefined || all.length < best.missing.length)) {
      best = { policy: policy.named, missing: all };
    }
  }
  return best;
}
