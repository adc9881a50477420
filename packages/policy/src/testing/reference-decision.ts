import { parseAddressText } from "@gatehouse/addresses/address-text";
import { formatIpAddress, parseIpAddress } from "@gatehouse/addresses/ip-address";
import { parseIpRange, rangeContains } from "@gatehouse/addresses/ip-ranges";
import type { PolicyType } from "@gatehouse/contract/records/policy";
import type { NetworkProtocol } from "@gatehouse/contract/records/protocol";
import type { Decision, DecisionReason } from "../decisions/decision.ts";
import type { AccessRequest, Destination, Subject } from "../decisions/request.ts";
import type {
  AddressFacts,
  DeviceFacts,
  PolicyFacts,
  Properties,
  ResourceFacts,
  TenantFacts,
  UserFacts,
} from "../model/facts.ts";
import { portsOf } from "../model/protocol-lists.ts";
import { type RuleVariables, referenceRule } from "./reference-rule.ts";

/**
 * "Policy evaluation" of the contract as plain loops, to be read beside the contract's text, which the comments quote.
 * The engine is tested against this module, which contains no optimizations. docs/decisions/0029-policy-evaluation.md
 * covers cases that the contract leaves open. The module is one file because the contract's section is one text.
 */

/** A decision without `validUntil`, and hints for its comparison. */
export interface ReferenceDecision extends Omit<Decision, "validUntil"> {
  /** Whether any evaluated rule reads `now`. */
  readonly readsNow: boolean;
  /** Whether `gateways` is a set. The order of AUTOMATIC load balancing is not part of the contract. */
  readonly gatewaysInAnyOrder: boolean;
}

/** Decides one request by the contract. */
export function decideByContract(facts: TenantFacts, request: AccessRequest): ReferenceDecision {
  // "1. An unknown or inactive user, a user still pending, an inactive device, or a device of another user → deny, with
  // that reason."
  const asking = resolveSubject(facts, request.subject);
  if (typeof asking === "string") return denied(asking);

  // "A device whose session has ended → deny" (docs/decisions/0125-device-sessions.md).
  const endsAt = asking.device?.sessionEndsAt ?? undefined;
  let readsNow = endsAt !== undefined;
  if (endsAt !== undefined && request.now >= endsAt) return denied("device_session_ended", { readsNow });

  // "2. The destination picks the resource: by id, or by address".
  const destination = pickResource(facts, request.destination);
  if (destination.reason !== undefined) return denied(destination.reason, { resource: destination.resource, readsNow });
  const resource = destination.resource;

  // "Traffic that enters at a site … is decided by the SITETOSITE list alone."
  if (asking.isSite && resource === undefined) return denied("no_resource");
  const list = listOfPolicies(asking, resource);

  // "3. Active policies of that type in ascending `order`; the first that applies and qualifies decides".
  for (const policy of facts.policies) {
    if (policy.type !== list || !policy.active || isDefaultOfInternet(policy)) continue;
    if (!sourceApplies(facts, policy, asking) || !destinationApplies(policy, list, resource)) continue;
    if (!sourceAddressApplies(policy, request.sourceIp)) continue;
    // "action false denies at once".
    if (!policy.action) return denied("denied_by_policy", { policy, resource, readsNow });
    // "action true with its admission rule met allows; not met → go on to the next."
    const rule = evaluateRule(facts, policy, variablesOf(facts, asking, resource, request));
    readsNow ||= rule.readsNow;
    if (rule.met) return allowed(facts, policy, resource, readsNow);
  }

  // "4. Nothing decided → deny for PRIVATE, SAAS, SITETOSITE. INTERNET ends in the tenant's default policy".
  if (list === "INTERNET") {
    for (const policy of facts.policies) {
      if (isDefaultOfInternet(policy)) return allowed(facts, policy, resource, readsNow);
    }
  }
  return denied("no_policy_allows", { resource, readsNow });
}

interface ResolvedSubject {
  /** Absent for a site. */
  readonly user?: UserFacts;
  readonly device?: DeviceFacts;
  readonly isSite: boolean;
}

function resolveSubject(facts: TenantFacts, subject: Subject): ResolvedSubject | DecisionReason {
  if (subject.kind === "site") {
    return facts.gateways.some(({ id }) => id === subject.gatewayId) ? { isSite: true } : "unknown_gateway";
  }
  const storedDevice = facts.devices.find(({ id }) => id === subject.deviceId);
  const device = storedDevice && { ...storedDevice, posture: subject.posture ?? storedDevice.posture };
  if (subject.kind === "device") {
    if (device === undefined) return "unknown_device";
    if (device.userId === null) return "device_without_user";
  }
  const userId = subject.kind === "device" ? device?.userId : subject.userId;
  const storedUser = facts.users.find(({ id }) => id === userId);
  if (storedUser === undefined) return "unknown_user";
  if (storedUser.status === "inactive") return "user_inactive";
  if (storedUser.status === "pending") return "user_pending";
  const user = { ...storedUser, attributes: subject.attributes ?? storedUser.attributes };

  // "A user without a device meets no condition on devices" (the issue): a device has to be named to ask.
  if (subject.deviceId === undefined) return { user, isSite: false };
  if (device === undefined) return "unknown_device";
  if (device.userId !== user.id) return "device_of_another_user";
  if (!device.active) return "device_inactive";
  return { user, device, isSite: false };
}

interface PickedResource {
  readonly resource?: ResourceFacts | undefined;
  readonly reason?: DecisionReason;
}

function pickResource(facts: TenantFacts, destination: Destination): PickedResource {
  if (destination.kind === "resource") {
    const resource = facts.resources.find(({ id }) => id === destination.resourceId);
    return resource === undefined ? { reason: "unknown_resource" } : { resource };
  }

  const asked = parseAddressText(destination.address);
  if (!asked.ok || asked.value.kind === "cidr" || asked.value.kind === "wildcard") return { reason: "invalid_address" };

  // "exact host name before the longest wildcard, the longest prefix for IP addresses".
  let longest = -1;
  for (const resource of facts.resources) {
    for (const { address } of resource.addresses) {
      longest = Math.max(longest, specificity(address, destination.address));
    }
  }
  if (longest < 0) return {};

  const candidates: ResourceFacts[] = [];
  const offering: ResourceFacts[] = [];
  for (const resource of facts.resources) {
    const level = resource.addresses.filter(({ address }) => specificity(address, destination.address) === longest);
    if (level.length > 0) candidates.push(resource);
    // "then one whose protocols include the asked protocol and port".
    if (level.some((address) => offers(address, destination))) offering.push(resource);
  }
  // "among equals the resource created first".
  if (offering.length > 0) return { resource: firstCreated(offering) };
  const guarded = candidates.filter(({ type }) => type !== "INTERNET");
  if (guarded.length > 0) return { reason: "protocol_not_offered", resource: firstCreated(guarded) };
  return {};
}

/**
 * The specificity of the match between an address of a resource and a requested address. Negative if they do not match.
 */
function specificity(address: string, askedText: string): number {
  const own = parseAddressText(address);
  const asked = parseAddressText(askedText);
  if (!own.ok || !asked.ok) return -1;
  if (own.value.isIp || asked.value.isIp) {
    if (!own.value.isIp || !asked.value.isIp) return -1;
    return rangeContains(own.value.range, asked.value.range) ? own.value.range.prefixLength : -1;
  }
  if (own.value.kind === "host") return own.value.text === asked.value.text ? Number.POSITIVE_INFINITY : -1;
  const dotAndDomain = own.value.text.slice(1);
  return asked.value.text.endsWith(dotAndDomain) ? dotAndDomain.length : -1;
}

function offers(address: AddressFacts, destination: Destination & { kind: "address" }): boolean {
  if (destination.protocol === undefined) return true;
  for (const entry of portsOf(address.protocols)) {
    if (entry.protocol === destination.protocol && includesPort(entry, destination.port)) return true;
  }
  return false;
}

function includesPort(entry: NetworkProtocol, port: number | undefined): boolean {
  if (port === undefined || entry.port === undefined) return true;
  const [from = "", to = from] = entry.port.split("-");
  return Number(from) <= port && port <= Number(to);
}

function firstCreated(resources: readonly ResourceFacts[]): ResourceFacts | undefined {
  return [...resources].sort((a, b) => (a.id < b.id ? -1 : 1))[0];
}

/**
 * "The resource's type picks the list of policies: PRIVATE or SAAS; INTERNET for a resource of that type and when none
 * matches."
 */
function listOfPolicies(asking: ResolvedSubject, resource: ResourceFacts | undefined): PolicyType {
  if (asking.isSite) return "SITETOSITE";
  return resource === undefined ? "INTERNET" : resource.type;
}

function isDefaultOfInternet(policy: PolicyFacts): boolean {
  return policy.isDefault && policy.type === "INTERNET";
}

/**
 * "source (allUsers, or the user in `users`; allGroups and the user is in some group, or in one of `groups`; allDevices
 * and a device asks, or the device in `devices`; any one of these suffices; SITETOSITE has none of these)".
 */
function sourceApplies(facts: TenantFacts, policy: PolicyFacts, { user, device }: ResolvedSubject): boolean {
  if (policy.type === "SITETOSITE") return true;
  if (user === undefined) return false;
  if (policy.allUsers || policy.users.includes(user.id)) return true;
  for (const group of facts.groups) {
    if (user.groups.includes(group.id) && (policy.allGroups || policy.groups.includes(group.id))) return true;
  }
  return device !== undefined && (policy.allDevices || policy.devices.includes(device.id));
}

/** "destination (allResources or `resources`; not asked for INTERNET without a resource)". */
function destinationApplies(policy: PolicyFacts, list: PolicyType, resource: ResourceFacts | undefined): boolean {
  if (list === "INTERNET" && resource === undefined) return true;
  return policy.allResources || (resource !== undefined && policy.resources.includes(resource.id));
}

/**
 * "`sourceIps` where the list is not empty: a request without a source address does not meet an allowing policy's
 * `sourceIps`, but does meet a denying one's (never fail open)".
 */
function sourceAddressApplies(policy: PolicyFacts, sourceIp: string | undefined): boolean {
  if (policy.sourceIps.length === 0) return true;
  if (sourceIp === undefined || parseIpAddress(sourceIp) === undefined) return !policy.action;
  const source = parseIpRange(sourceIp);
  for (const text of policy.sourceIps) {
    const range = parseIpRange(text);
    if (source.ok && range.ok && rangeContains(range.value, source.value)) return true;
  }
  return false;
}

function evaluateRule(
  facts: TenantFacts,
  policy: PolicyFacts,
  variables: RuleVariables,
): { readonly met: boolean; readonly readsNow: boolean } {
  const rule = facts.rules.find(({ id }) => id === policy.rule);
  // "the built-in … (type ALLOW). A second built-in is type DENY: never met."
  if (rule?.type !== "CUSTOM" || rule.text === null) return { met: rule?.type === "ALLOW", readsNow: false };
  const { isMet, readsNow } = referenceRule(rule.text);
  return { met: isMet(variables), readsNow };
}

/**
 * "Variables: `user` (email, firstName, lastName, status, groups — their names — and, for anything else, its
 * attributes), `device` (name, os, osVersion, appVersion, hardwareId, posture), `source` (ip, country), `resource`
 * (name, type), `now`". Decision 0130 adds the device's tags. Decision 0149 adds `session` (authenticatedAt, age,
 * methods, provider): the session of the device, absent without one. Decision 0151 adds the device's agent.
 */
function variablesOf(
  facts: TenantFacts,
  { user, device }: ResolvedSubject,
  resource: ResourceFacts | undefined,
  request: AccessRequest,
): RuleVariables {
  const sourceIp = request.sourceIp === undefined ? undefined : parseIpAddress(request.sourceIp);
  const source = new Map<string, unknown>();
  if (sourceIp !== undefined) source.set("ip", formatIpAddress(sourceIp));
  if (request.country !== undefined) source.set("country", request.country);
  return {
    ...(user && {
      user: new Map<string, unknown>([
        ...entriesOf(user.attributes),
        ["email", user.email],
        ["firstName", user.firstName],
        ["lastName", user.lastName],
        ["status", user.status],
        ["groups", groupNamesOf(facts, user)],
      ]),
    }),
    ...(device && {
      device: new Map<string, unknown>([
        ["name", device.name],
        ["os", device.os],
        ["osVersion", device.osVersion],
        ["appVersion", device.appVersion],
        ["hardwareId", device.hardwareId],
        ["tags", [...device.tags]],
        ["agent", device.agent],
        ["posture", new Map(entriesOf(device.posture))],
      ]),
    }),
    source,
    ...(device?.session && {
      session: new Map<string, unknown>([
        ["authenticatedAt", new Date(device.session.authenticatedAt)],
        ["methods", [...device.session.methods]],
        ...(device.session.provider === null ? [] : [["provider", device.session.provider] as const]),
      ]),
    }),
    ...(resource && {
      resource: new Map<string, unknown>([
        ["name", resource.name],
        ["type", resource.type],
      ]),
    }),
    now: new Date(request.now),
  };
}

function entriesOf(properties: Properties): [string, unknown][] {
  return Object.entries(properties);
}

function groupNamesOf(facts: TenantFacts, user: UserFacts): string[] {
  const names = facts.groups.filter(({ id }) => user.groups.includes(id)).map(({ name }) => name);
  return names.sort(byCodePoint);
}

function byCodePoint(a: string, b: string): number {
  const left = [...a].map((character) => character.codePointAt(0) ?? 0);
  const right = [...b].map((character) => character.codePointAt(0) ?? 0);
  for (const [index, point] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    if (point !== other) return point - other;
  }
  return left.length - right.length;
}

function allowed(
  facts: TenantFacts,
  policy: PolicyFacts,
  resource: ResourceFacts | undefined,
  readsNow: boolean,
): ReferenceDecision {
  const found = { ...named({ policy, resource }), readsNow };
  if (policy.type === "INTERNET") {
    const mode = policy.mode ?? "LOCAL";
    // "LOCAL leaves it on the device's own connection".
    if (mode === "LOCAL") {
      return { allowed: true, reasons: ["allowed_by_policy"], mode, gateways: [], ...found, gatewaysInAnyOrder: false };
    }
    // "RESTRICTED blocks all but configured resources (the decision is not allowed, mode RESTRICTED)".
    if (mode === "RESTRICTED") {
      const reasons = ["restricted_by_policy"] as const;
      return { allowed: false, reasons, mode, gateways: [], ...found, gatewaysInAnyOrder: false };
    }
    // "INTERNET_ACCESS_POINT carries it through `gateways`": the policy's, unless step 5 gives those of the resource.
    if (resource === undefined || resource.gateways.length === 0) {
      const gateways = onlineOf(facts, policy.gateways);
      return { allowed: true, reasons: reasonsFor(gateways), mode, gateways, ...found, gatewaysInAnyOrder: false };
    }
    return { ...throughResource(facts, policy, resource), mode, ...found };
  }
  return { ...throughResource(facts, policy, resource), ...found };
}

function throughResource(
  facts: TenantFacts,
  policy: PolicyFacts,
  resource: ResourceFacts | undefined,
): Pick<ReferenceDecision, "allowed" | "reasons" | "gateways" | "gatewaysInAnyOrder"> {
  // "5. Reachable gateways for an allowed resource: the resource's gateways, only those named in the policy's
  // `gateways` where it names any, ONLINE and not in MAINTENANCE. MANUAL: by priority. … None left: still allowed,
  // `gateways` empty, with that reason."
  const own = resource?.gateways ?? [];
  const usable = policy.gateways.length === 0 ? own : own.filter((id) => policy.gateways.includes(id));
  const gateways = onlineOf(facts, usable);
  const gatewaysInAnyOrder = resource?.loadBalancingMode === "AUTOMATIC";
  return { allowed: true, reasons: reasonsFor(gateways), gateways, gatewaysInAnyOrder };
}

function onlineOf(facts: TenantFacts, ids: readonly string[]): string[] {
  return ids.filter((wanted) => facts.gateways.some(({ id, status }) => id === wanted && status === "ONLINE"));
}

function reasonsFor(gateways: readonly string[]): Decision["reasons"] {
  return gateways.length > 0 ? ["allowed_by_policy"] : ["allowed_by_policy", "no_reachable_gateway"];
}

interface Found {
  readonly policy?: PolicyFacts | undefined;
  readonly resource?: ResourceFacts | undefined;
  readonly readsNow?: boolean;
}

function denied(reason: DecisionReason, found: Found = {}): ReferenceDecision {
  const readsNow = found.readsNow ?? false;
  return { allowed: false, reasons: [reason], gateways: [], ...named(found), readsNow, gatewaysInAnyOrder: false };
}

function named({ policy, resource }: Found): Pick<Decision, "policy" | "resource"> {
  return {
    ...(policy && { policy: { id: policy.id, name: policy.name } }),
    ...(resource && { resource: { id: resource.id, name: resource.name } }),
  };
}
