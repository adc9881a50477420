import { formatIpAddress, type IpAddress } from "@gatehouse/addresses/ip-address";
import { everyDevice, type Membership } from "@gatehouse/agent-protocol/gateway/configuration";
import type { RuleContext } from "../admission-rules/evaluate-rule.ts";
import { ruleContext } from "../decisions/decide.ts";
import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import type { Model } from "../model/model.ts";
import type { Principal } from "../model/principal.ts";
import { knownSource } from "../model/source-address.ts";
import type { Work } from "../work.ts";
import type { PlanStep } from "./access-plan.ts";
import { sourceAt } from "./device-sources.ts";
import type { DeviceLink } from "./links.ts";
import { dependenciesOf, deviceRuleBudget, findingWindows, type ValidityPeriod } from "./rule-windows.ts";

/** A device that may reach something: the device and its user are active, and gateways can identify it. */
export interface EligibleDevice {
  readonly principal: Principal;
  readonly link: DeviceLink;
}

/**
 * The definition of an access class. Equal definitions with the same key have the same members as long as devices and
 * users do not change.
 */
export interface ClassDefinition {
  readonly key: string;
  /** Undefined for the class of a group or of all groups. */
  readonly policy: CompiledPolicy | undefined;
  /** The id of the group, or the empty text for all groups. */
  readonly group: string | undefined;
  readonly rule: CompiledRule | undefined;
  readonly resource: CompiledResource | undefined;
  /** Whether membership depends on the device's source address or on a rule. */
  readonly isConditional: boolean;
  /** Whether the class is for a deny rule. Such a class contains each device whose membership is uncertain. */
  readonly isDenying: boolean;
}

export function isSameDefinition(one: ClassDefinition, other: ClassDefinition): boolean {
  return (
    one.policy?.facts === other.policy?.facts &&
    one.rule === other.rule &&
    one.resource?.generation === other.resource?.generation &&
    one.isConditional === other.isConditional
  );
}

/**
 * The classes of a step. Empty if the step applies to every device. Policies share the classes of groups, so that a
 * change of a policy moves no members.
 */
export function classesOf(
  { policy, audience, deviceRule }: PlanStep,
  action: "allow" | "deny",
): readonly ClassDefinition[] {
  const plain = { policy: undefined, rule: undefined, resource: undefined, isConditional: false, isDenying: false };
  const { facts } = policy;
  if (audience.kind === "everyone") return [];
  if (audience.kind === "conditional") {
    const { resource } = audience;
    const isDenying = action === "deny" && deviceRule !== undefined && dependenciesOf(deviceRule).time;
    const about = resource === undefined ? facts.id : `${facts.id}/${resource.id}`;
    const key = `${isDenying ? "denied" : "policy"}/${about}`;
    return [{ key, policy, group: undefined, rule: deviceRule, resource, isConditional: true, isDenying }];
  }
  const classes: ClassDefinition[] = facts.allGroups
    ? [{ ...plain, key: "grouped", group: "" }]
    : [...policy.groups].map((group) => ({ ...plain, key: `group/${group}`, group }));
  if (policy.users.size + policy.devices.size > 0) {
    classes.push({ ...plain, key: `named/${facts.id}`, policy, group: undefined });
  }
  return classes;
}

/** The keys of the classes that a rule names. */
export function classKeysOf(step: PlanStep, action: "allow" | "deny"): readonly string[] {
  return step.audience.kind === "everyone" ? [everyDevice] : classesOf(step, action).map(({ key }) => key);
}

/** Whether membership depends on the source address of a device, which can differ between gateways. */
export function readsSource({ isConditional, policy, rule }: ClassDefinition): boolean {
  return isConditional && (policy?.hasSourceIps === true || (rule !== undefined && dependenciesOf(rule).source));
}

/** The membership of a device in a class, undefined for none, and the time until which it is exact. */
export interface FoundMembership {
  readonly membership: Membership | undefined;
  readonly exactUntil: number;
  /** The cost that the work has not yielded. */
  readonly unpaid: number;
}

/** A membership without its rule. */
const membershipCost = 20;
/** The variables of a rule for a device. */
const contextCost = 80;

/**
 * Finds the membership of a device in a class.
 *
 * @param gatewayId the gateway whose class it is; absent for gateways that observed no address of their own
 */
export function* findingMembership(
  definition: ClassDefinition,
  model: Model,
  device: EligibleDevice,
  validity: ValidityPeriod,
  gatewayId?: string,
): Work<FoundMembership> {
  const { policy, group, rule, resource, isConditional, isDenying } = definition;
  const { principal } = device;
  const fixed = (isMember: boolean): FoundMembership => ({
    membership: isMember || undefined,
    exactUntil: validity.until,
    unpaid: membershipCost,
  });
  if (group !== undefined)
    return fixed(group === "" ? principal.groupIds.length > 0 : principal.groupIds.includes(group));
  if (policy === undefined) return fixed(false);
  if (!isConditional) {
    return fixed(
      policy.users.has(principal.userId) ||
        (principal.deviceId !== undefined && policy.devices.has(principal.deviceId)),
    );
  }
  const address = sourceAt(device.link.sources, gatewayId);
  const sourceIp = knownSource(address);
  if (!policy.appliesTo(principal) || !policy.appliesToSourceIp(sourceIp)) return fixed(false);
  if (rule === undefined) return fixed(true);
  const contextAt = contextsOf(model, device, resource, sourceIp);
  const { when, exactUntil, unpaid } = yield* findingWindows(rule, contextAt, validity, deviceRuleBudget, isDenying);
  const membership = when === true || when.length > 0 ? when : undefined;
  return { membership, exactUntil, unpaid: unpaid + membershipCost + contextCost };
}

/** Returns the rule context of a decision for any time. */
function contextsOf(
  model: Model,
  { principal, link }: EligibleDevice,
  resource: CompiledResource | undefined,
  sourceIp: IpAddress | undefined,
): (now: number) => RuleContext {
  const context = ruleContext(
    {
      model,
      principal,
      resource,
      request: {
        subject: { kind: "device", deviceId: link.deviceId },
        destination: { kind: "resource", resourceId: resource?.id ?? "" },
        ...(sourceIp === undefined ? {} : { sourceIp: formatIpAddress(sourceIp) }),
        ...(link.country === null ? {} : { country: link.country }),
        now: 0,
      },
    },
    sourceIp,
  );
  return (now) => ({ ...context, now: new Date(now) });
}
