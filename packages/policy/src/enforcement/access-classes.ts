import { formatIpAddress } from "@gatehouse/addresses/ip-address";
import { peerAddress } from "@gatehouse/addresses/source-ips";
import { everyDevice, type Membership } from "@gatehouse/agent-protocol/gateway/configuration";
import type { RuleContext } from "../admission-rules/evaluate-rule.ts";
import { ruleContext } from "../decisions/decide.ts";
import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import type { Model } from "../model/model.ts";
import type { Principal } from "../model/principal.ts";
import type { PlanStep } from "./access-plan.ts";
import type { DeviceLink } from "./links.ts";
import { dependenciesOf, deviceRuleBudget, type ValidityPeriod, windowsOf } from "./rule-windows.ts";

/** A device that may reach something: it is active, so is its user, and gateways can know it. */
export interface EligibleDevice {
  readonly principal: Principal;
  readonly link: DeviceLink;
}

/** Who is in an access class. Two definitions of one key that are equal have the same members, as long as devices and users are the same. */
export interface ClassDefinition {
  readonly key: string;
  /** Undefined for a class of a group, or of all groups. */
  readonly policy: CompiledPolicy | undefined;
  /** The group, or the empty text for any group. */
  readonly group: string | undefined;
  readonly rule: CompiledRule | undefined;
  readonly resource: CompiledResource | undefined;
  /** Whether it is asked where the device is, and its rule. */
  readonly isConditional: boolean;
  /** Whether it is for denying: who cannot be told in advance to be a member is one. */
  readonly isDenying: boolean;
}

export function isSameDefinition(one: ClassDefinition, other: ClassDefinition): boolean {
  return (
    one.policy?.facts === other.policy?.facts &&
    one.rule === other.rule &&
    one.resource === other.resource &&
    one.isConditional === other.isConditional
  );
}

/** The classes of a step; none for every device. Groups have classes that policies share, so that a policy's change moves no members. */
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
    const about = resource === undefined ? facts.id : `${facts.id}/${resource.facts.id}`;
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

/** The keys by which a rule names its classes. */
export function classKeysOf(step: PlanStep, action: "allow" | "deny"): readonly string[] {
  return step.audience.kind === "everyone" ? [everyDevice] : classesOf(step, action).map(({ key }) => key);
}

/** Whether a device is a member of a class, and when; undefined: it is not. And until when that is settled. */
export function membershipIn(
  definition: ClassDefinition,
  model: Model,
  device: EligibleDevice,
  validity: ValidityPeriod,
): { readonly membership: Membership | undefined; readonly exactUntil: number } {
  const { policy, group, rule, resource, isConditional, isDenying } = definition;
  const { principal } = device;
  const settled = (isMember: boolean) => ({ membership: isMember || undefined, exactUntil: validity.until });
  if (group !== undefined)
    return settled(group === "" ? principal.groupIds.length > 0 : principal.groupIds.includes(group));
  if (policy === undefined) return settled(false);
  if (!isConditional) {
    return settled(
      policy.users.has(principal.userId) ||
        (principal.deviceId !== undefined && policy.devices.has(principal.deviceId)),
    );
  }
  const sourceIp = device.link.sourceIp === null ? undefined : peerAddress(device.link.sourceIp);
  if (!policy.appliesTo(principal) || !policy.appliesToSourceIp(sourceIp)) return settled(false);
  if (rule === undefined) return settled(true);
  const contextAt = contextsOf(model, device, resource);
  const { when, exactUntil } = windowsOf(rule, contextAt, validity, deviceRuleBudget, isDenying);
  return { membership: when === true || when.length > 0 ? when : undefined, exactUntil };
}

/** The same context as a decision would have, at any moment. */
function contextsOf(
  model: Model,
  { principal, link }: EligibleDevice,
  resource: CompiledResource | undefined,
): (now: number) => RuleContext {
  const sourceIp = link.sourceIp === null ? undefined : peerAddress(link.sourceIp);
  const context = ruleContext(
    {
      model,
      principal,
      resource,
      request: {
        subject: { kind: "device", deviceId: link.deviceId },
        destination: { kind: "resource", resourceId: resource?.facts.id ?? "" },
        ...(sourceIp === undefined ? {} : { sourceIp: formatIpAddress(sourceIp) }),
        ...(link.country === null ? {} : { country: link.country }),
        now: 0,
      },
    },
    sourceIp,
  );
  return (now) => ({ ...context, now: new Date(now) });
}
