import { formatIpAddress, type IpAddress } from "@gatehouse/addresses/ip-address";
import type { PolicyType } from "@gatehouse/contract/records/policy";
import type { RuleContext, RuleSession } from "../admission-rules/evaluate-rule.ts";
import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import { estimatedCost } from "../model/evaluation-cost.ts";
import type { Model } from "../model/model.ts";
import type { Principal } from "../model/principal.ts";
import { knownSource } from "../model/source-address.ts";
import { decisionCost, policyCost, type Work, yieldAfter } from "../work.ts";
import { Candidates } from "./candidates.ts";
import type { Decision, DecisionReason } from "./decision.ts";
import { automaticOrder } from "./gateway-order.ts";
import { gatewaysOf } from "./policy-gateways.ts";
import type { AccessRequest, Subject } from "./request.ts";
import { resolveDestination } from "./resolve-destination.ts";
import { resolvePrincipal } from "./resolve-principal.ts";

/** Decides one request (contract, "Policy evaluation"). Equal models and requests always give equal decisions. */
export function decide(model: Model, request: AccessRequest): Decision {
  const principal = resolvePrincipal(model, request.subject);
  if (typeof principal === "string") return denied(principal);
  if (hasEnded(principal, request.now)) return denied("device_session_ended");
  const { resource, denied: reason } = resolveDestination(model, request.destination);
  if (reason !== undefined) return timed(denied(reason, resource), principal.endsAt);
  return decideForResource(model, request, principal, resource);
}

/** Whether the device's session has ended. The device can only reach the control plane then. */
export function hasEnded({ endsAt }: Principal, now: number): boolean {
  return now >= endsAt;
}

/**
 * Decides a request whose destination is already resolved.
 *
 * @param request its own destination is ignored
 * @param resource undefined for the internet outside any resource
 */
export function decideForResource(
  model: Model,
  request: AccessRequest,
  principal: Principal,
  resource: CompiledResource | undefined,
): Decision {
  if (hasEnded(principal, request.now)) return denied("device_session_ended");
  const type = policyTypeFor(principal, resource);
  // No policy list covers traffic from a site to an address outside all resources.
  if (type === undefined) return denied("no_resource");
  const list = model.policies[type];
  const candidates = Candidates.of(list, principal, resource);
  if (candidates === undefined) return timed(decidedBy(model, list.fallback, principal, resource), principal.endsAt);
  const circumstances = new Circumstances({ model, request, principal, resource });
  const policy = firstQualifying(candidates, circumstances) ?? list.fallback;
  return timed(decidedBy(model, policy, principal, resource), circumstances.validUntil);
}

/** Adds up the cost of decisions. */
export interface CostMeter {
  /** Units of cost that are not reported yet. */
  spent: number;
}

/**
 * Decides like `decide`, and adds the cost to a meter. Nearly all decisions are cheap, and a generator for each of them
 * would cost more than some of the decisions.
 *
 * @returns undefined if the policies cost more than a time slice; use `deciding`, which can be suspended
 */
export function decideBriefly(model: Model, request: AccessRequest, meter: CostMeter): Decision | undefined {
  meter.spent += decisionCost;
  const principal = resolvePrincipal(model, request.subject);
  if (typeof principal === "string") return denied(principal);
  if (hasEnded(principal, request.now)) return denied("device_session_ended");
  const { resource, denied: reason } = resolveDestination(model, request.destination);
  if (reason !== undefined) return timed(denied(reason, resource), principal.endsAt);
  const type = policyTypeFor(principal, resource);
  if (type === undefined) return denied("no_resource");
  const list = model.policies[type];
  const candidates = Candidates.of(list, principal, resource);
  if (candidates === undefined) return timed(decidedBy(model, list.fallback, principal, resource), principal.endsAt);
  const circumstances = new Circumstances({ model, request, principal, resource });
  const limit = meter.spent + yieldAfter;
  let policy = candidates.next();
  for (; policy !== undefined; policy = candidates.next()) {
    if (meter.spent >= limit) return undefined;
    meter.spent += policyCost + circumstances.costOf(policy);
    if (qualifies(policy, circumstances)) break;
  }
  return timed(decidedBy(model, policy ?? list.fallback, principal, resource), circumstances.validUntil);
}

/** Decides like `decide`, as work that can be suspended between two policies. */
export function* deciding(model: Model, request: AccessRequest): Work<Decision> {
  yield decisionCost;
  const principal = resolvePrincipal(model, request.subject);
  if (typeof principal === "string") return denied(principal);
  if (hasEnded(principal, request.now)) return denied("device_session_ended");
  const { resource, denied: reason } = resolveDestination(model, request.destination);
  if (reason !== undefined) return timed(denied(reason, resource), principal.endsAt);
  return (yield* decidingForResource(model, request, principal, resource)).decision;
}

/** A decision, and the policy that made it; undefined: no policy did. */
export interface DecisionOfPolicy {
  readonly decision: Decision;
  readonly policy: CompiledPolicy | undefined;
}

/** Decides like `decideForResource`, as work that can be suspended. Yields the cost of policies only. */
export function* decidingForResource(
  model: Model,
  request: AccessRequest,
  principal: Principal,
  resource: CompiledResource | undefined,
): Work<DecisionOfPolicy> {
  if (hasEnded(principal, request.now)) return { decision: denied("device_session_ended"), policy: undefined };
  const type = policyTypeFor(principal, resource);
  if (type === undefined) return { decision: denied("no_resource"), policy: undefined };
  const list = model.policies[type];
  const by = (policy: CompiledPolicy | undefined, validUntil: number): DecisionOfPolicy => ({
    decision: timed(decidedBy(model, policy, principal, resource), validUntil),
    policy,
  });
  const candidates = Candidates.of(list, principal, resource);
  if (candidates === undefined) return by(list.fallback, principal.endsAt);
  const circumstances = new Circumstances({ model, request, principal, resource });
  let deciding = list.fallback;
  let spent = 0;
  for (let policy = candidates.next(); policy !== undefined; policy = candidates.next()) {
    spent += policyCost + circumstances.costOf(policy);
    if (qualifies(policy, circumstances)) {
      deciding = policy;
      break;
    }
    if (spent < yieldAfter) continue;
    yield spent;
    spent = 0;
  }
  if (spent > 0) yield spent;
  return by(deciding, circumstances.validUntil);
}

function decidedBy(
  model: Model,
  policy: CompiledPolicy | undefined,
  principal: Principal,
  resource: CompiledResource | undefined,
): Decision {
  if (policy === undefined) return denied("no_policy_allows", resource);
  if (policy.facts.action) return allowedBy(model, policy, resource, principal.key);
  return decided(policy, resource, deniedByPolicy, noGateways);
}

/** Returns the first policy that denies, or that allows and whose rule is met. */
function firstQualifying(candidates: Candidates, circumstances: Circumstances): CompiledPolicy | undefined {
  for (let policy = candidates.next(); policy !== undefined; policy = candidates.next()) {
    if (qualifies(policy, circumstances)) return policy;
  }
  return undefined;
}

function qualifies(policy: CompiledPolicy, circumstances: Circumstances): boolean {
  if (policy.hasSourceIps && !policy.appliesToSourceIp(circumstances.sourceIp)) return false;
  return !policy.facts.action || circumstances.meets(policy);
}

/** The type of the policies that decide about a destination. Undefined if no policy decides. */
export function policyTypeFor(principal: Principal, resource: CompiledResource | undefined): PolicyType | undefined {
  if (principal.user === undefined) return resource === undefined ? undefined : "SITETOSITE";
  return resource?.type ?? "INTERNET";
}

/** The input of policy evaluation, with the principal and the destination resolved. */
export interface DecisionInput {
  readonly model: Model;
  readonly request: AccessRequest;
  readonly principal: Principal;
  readonly resource: CompiledResource | undefined;
}

/** Values derived from the input on first use, and the time until which the results are valid. */
class Circumstances {
  readonly #input: DecisionInput;
  #sourceIp: IpAddress | undefined | null = null;
  #context: RuleContext | undefined;
  /**
   * The time before which the results cannot change, in milliseconds since 1970. Infinity if the results never change.
   */
  validUntil: number;

  constructor(input: DecisionInput) {
    this.#input = input;
    this.validUntil = input.principal.endsAt;
  }

  get sourceIp(): IpAddress | undefined {
    if (this.#sourceIp === null) this.#sourceIp = knownSource(this.#input.request.sourceIp);
    return this.#sourceIp;
  }

  /** Whether a policy's admission rule is met. A missing or failing rule is not met. */
  meets(policy: CompiledPolicy): boolean {
    const rule = policy.ruleIn(this.#input.model.rules);
    if (rule === undefined) return false;
    if (rule.facts.type !== "CUSTOM") return rule.facts.type === "ALLOW";
    const context = this.#ruleContext();
    const horizon = rule.horizon(context);
    if (horizon !== undefined && horizon < this.validUntil) this.validUntil = horizon;
    return rule.evaluate(context) === true;
  }

  /** The cost of `meets`. */
  costOf(policy: CompiledPolicy): number {
    const rule = policy.facts.action ? policy.ruleIn(this.#input.model.rules) : undefined;
    if (rule?.facts.type !== "CUSTOM") return 0;
    const cost = estimatedCost(rule, this.#ruleContext());
    // The horizon evaluates parts of the rule.
    return rule.readsNow ? 2 * cost : cost;
  }

  #ruleContext(): RuleContext {
    this.#context ??= ruleContext(this.#input, this.sourceIp);
    return this.#context;
  }
}

function allowedBy(
  model: Model,
  policy: CompiledPolicy,
  resource: CompiledResource | undefined,
  key: string,
): Decision {
  if (policy.facts.type === "INTERNET") return internetDecision(model, policy, resource, key);
  // The gateways that can carry the traffic now (contract, "Policy evaluation", step 5).
  const gateways =
    resource === undefined ? noGateways : gatewaysInOrder(model, resource, key, gatewaysOf(policy, resource));
  return decided(policy, resource, gateways.length === 0 ? unreachable : allowed, gateways);
}

/** Applies the mode of an INTERNET policy (contract, "Policy evaluation", step 4). */
function internetDecision(
  model: Model,
  policy: CompiledPolicy,
  resource: CompiledResource | undefined,
  key: string,
): Decision {
  const mode = policy.facts.mode ?? "LOCAL";
  if (mode === "RESTRICTED") return { ...decided(policy, resource, restricted, noGateways), mode };
  if (mode === "LOCAL") return { ...decided(policy, resource, allowed, noGateways), mode };
  const isResourcesOwn = resource !== undefined && resource.facts.gateways.length > 0;
  const usable = gatewaysOf(policy, resource);
  const gateways = isResourcesOwn ? gatewaysInOrder(model, resource, key, usable) : onlineOf(model, usable);
  return { ...decided(policy, resource, gateways.length === 0 ? unreachable : allowed, gateways), mode };
}

/**
 * The gateways in service, in the order to try them.
 *
 * @param ids some gateways of the resource, in its order
 */
export function gatewaysInOrder(
  model: Model,
  { facts }: CompiledResource,
  key: string,
  ids: readonly string[] = facts.gateways,
): readonly string[] {
  const online = onlineOf(model, ids);
  if (facts.loadBalancingMode === "MANUAL" || online.length < 2) return online;
  const known = online.flatMap((id) => model.gateways.get(id) ?? []);
  return automaticOrder(known, key).map(({ id }) => id);
}

function onlineOf(model: Model, ids: readonly string[]): readonly string[] {
  const isOnline = (id: string) => model.gateways.get(id)?.status === "ONLINE";
  return ids.every(isOnline) ? ids : ids.filter(isOnline);
}

/** The variables with which admission rules are evaluated. */
export function ruleContext(input: DecisionInput, sourceIp: IpAddress | undefined): RuleContext {
  const { model, request, principal, resource } = input;
  const { country, now, subject } = request;
  return {
    user: userVariable(model, principal, subject),
    device: deviceVariable(model, principal, subject),
    session: sessionVariable(model, principal),
    source: {
      ...(sourceIp === undefined ? {} : { ip: formatIpAddress(sourceIp) }),
      ...(country === undefined ? {} : { country }),
    },
    resource: resource?.forRules,
    now: new Date(now),
  };
}

function userVariable({ users, groups }: Model, { userId }: Principal, subject: Subject): object | undefined {
  const user = users.get(userId);
  if (subject.kind === "site" || subject.attributes === undefined) return user?.forRulesIn(groups);
  return user?.forRulesWith(subject.attributes, groups);
}

function deviceVariable({ devices }: Model, { deviceId }: Principal, subject: Subject): object | undefined {
  const device = deviceId === undefined ? undefined : devices.get(deviceId);
  if (subject.kind === "site" || subject.posture === undefined) return device?.forRules;
  return device?.forRulesWith(subject.posture);
}

/** The session of the device, including a device whose posture is given with the request. */
export function sessionVariable(
  { devices }: Model,
  { deviceId }: Pick<Principal, "deviceId">,
): RuleSession | undefined {
  return deviceId === undefined ? undefined : devices.get(deviceId)?.sessionForRules;
}

const noGateways: readonly string[] = [];
const allowed: Decision["reasons"] = ["allowed_by_policy"];
const unreachable: Decision["reasons"] = ["allowed_by_policy", "no_reachable_gateway"];
const deniedByPolicy: Decision["reasons"] = ["denied_by_policy"];
const restricted: Decision["reasons"] = ["restricted_by_policy"];

function denied(reason: DecisionReason, resource?: CompiledResource): Decision {
  const reasons: Decision["reasons"] = [reason];
  if (resource === undefined) return { allowed: false, reasons, gateways: noGateways };
  return { allowed: false, reasons, resource: resource.named, gateways: noGateways };
}

function timed(decision: Decision, validUntil: number): Decision {
  return validUntil === Number.POSITIVE_INFINITY ? decision : { ...decision, validUntil };
}

function decided(
  policy: CompiledPolicy,
  resource: CompiledResource | undefined,
  reasons: Decision["reasons"],
  gateways: readonly string[],
): Decision {
  const isAllowed = reasons[0] === "allowed_by_policy";
  if (resource === undefined) return { allowed: isAllowed, reasons, policy: policy.named, gateways };
  return { allowed: isAllowed, reasons, policy: policy.named, resource: resource.named, gateways };
}
