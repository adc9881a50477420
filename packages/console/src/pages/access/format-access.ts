/** Decisions in words. */
import type { ResultOf } from "@gatehouse/client/calls";
import { formatCondition } from "../admission-rules/format-condition.ts";

export type Decision = ResultOf<"/access/v1/evaluation", "post">;
type Explanation = NonNullable<Decision["context"]["explanation"]>;
export type Considered = Explanation["policies"][number];
export type Missing = NonNullable<Explanation["nearestMiss"]>["missing"][number];
export type Condition = NonNullable<Considered["rule"]>["conditions"][number];

const reasons: Readonly<Record<Decision["context"]["reason"], string>> = {
  allowed_by_policy: "A policy allows it.",
  no_reachable_gateway: "It is allowed, but none of the gateways that may carry it can be reached now.",
  denied_by_policy: "A policy denies it.",
  restricted_by_policy: "A policy blocks this part of the internet.",
  no_policy_allows: "No policy allows it.",
  unknown_user: "There is no such user.",
  user_inactive: "The user is deactivated.",
  user_pending: "The user has not accepted the invitation yet.",
  unknown_device: "There is no such device.",
  device_without_user: "The device belongs to no user.",
  device_of_another_user: "The device belongs to another user.",
  device_inactive: "The device is deactivated.",
  unknown_gateway: "There is no such gateway.",
  unknown_resource: "There is no such resource.",
  invalid_address: "The destination is neither an IP address nor a host name.",
  no_resource: "No resource has this address.",
  protocol_not_offered: "The resource is not offered on this protocol and port.",
  unknown_action: "There is no such action.",
  unknown_subject_type: "Only users and devices reach something.",
  unknown_resource_type: "Only resources and addresses are reached.",
};

export function formatReason(reason: string): string {
  return reasons[reason as keyof typeof reasons] ?? reason; // a newer server may know more
}

const outcomes: Readonly<Record<Considered["outcome"], string>> = {
  decided: "It fits, and decides.",
  not_asked: "It would fit, but one before it decides.",
  inactive: "It is inactive.",
  source_not_met: "It is about other people or devices.",
  destination_not_met: "It is about other resources.",
  source_address_not_met: "The request comes from another address than it asks for.",
  rule_not_met: "Its admission rule is not met.",
};

export function formatOutcome(outcome: Considered["outcome"]): string {
  return outcomes[outcome];
}

/** By what somebody is meant by a policy. */
export function formatMatches(matches: Considered["sourceMatches"]): string {
  const words = matches.map(({ kind, name }) => {
    if (kind === "anyone") return "anyone";
    if (kind === "all-users") return "all users";
    if (kind === "all-groups") return "members of any group";
    if (kind === "all-devices") return "all devices";
    return `${kind} ${name ?? "unknown"}`;
  });
  return words.join(", ");
}

/** What would have to be so, for access: "the user would have to be in group Finance". */
export function formatMissing(missing: Missing): string {
  const { kind, reason, policy, condition, negated, sourceIps = [] } = missing;
  switch (kind) {
    case "subject":
    case "destination":
      return reason === undefined ? "What is asked for would have to be another." : formatReason(reason);
    case "denied-by":
      return `Policy ${policy?.name ?? ""} would have to be gone, or stand after it.`;
    case "source":
      return formatSource(missing);
    case "source-address":
      return `The request would have to come from ${list(sourceIps)}.`;
    case "condition":
      return condition === undefined ? "A condition would have to be met." : formatMissingCondition(condition, negated);
  }
}

/** In words where there are some; otherwise as it is written. */
function formatMissingCondition(condition: Condition, negated = false): string {
  const words = formatCondition(condition.text);
  const wish = negated ? "This must not be so" : "This would have to be so";
  return `${wish}: ${words ?? condition.text}${formatValues(condition)}.`;
}

function formatSource({ anyGroup, anyDevice, groups = [], users = [], devices = [] }: Missing): string {
  const ways = [
    anyGroup === true && "be in some group",
    groups.length > 0 && `be in ${list(groups.map(({ name }) => name))}`,
    users.length > 0 && `be ${list(users.map(({ name }) => name))}`,
    anyDevice === true && "come with some device",
    devices.length > 0 && `come with ${list(devices.map(({ name }) => name))}`,
  ].filter((way) => way !== false);
  return ways.length === 0 ? "Nobody is meant by it." : `The user would have to ${ways.join(", or ")}.`;
}

function list(names: readonly string[]): string {
  const shown = names.slice(0, 5);
  return names.length > shown.length
    ? `${shown.join(", ")} or one of ${names.length - shown.length} more`
    : shown.join(" or ");
}

/** What a condition saw: " (device.posture.diskEncrypted is false)". */
export function formatValues({ values }: Condition): string {
  const seen = values.map(({ name, value }) => `${name} is ${value ?? "not known"}`);
  return seen.length === 0 ? "" : ` (${seen.join("; ")})`;
}
