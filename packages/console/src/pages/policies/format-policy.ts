/** Policies in words. */
import type { ItemAt } from "@gatehouse/client/calls";
import { t } from "../../messages/i18n.ts";

export type Policy = ItemAt<"/tenants/policies">;
export type PolicyType = Policy["type"];

export interface PolicyTypeOption {
  readonly value: PolicyType;
  readonly label: string;
  readonly empty: string;
}

/** The first one is the default. */
export const policyTypes: readonly [PolicyTypeOption, ...PolicyTypeOption[]] = [
  { value: "PRIVATE", label: t("policies.types.PRIVATE"), empty: t("policies.empty.PRIVATE") },
  { value: "SAAS", label: t("policies.types.SAAS"), empty: t("policies.empty.SAAS") },
  { value: "INTERNET", label: t("policies.types.INTERNET"), empty: t("policies.empty.INTERNET") },
  { value: "SITETOSITE", label: t("policies.types.SITETOSITE"), empty: t("policies.empty.SITETOSITE") },
];

export const modes = [
  { value: "LOCAL", label: t("policies.modes.LOCAL") },
  { value: "INTERNET_ACCESS_POINT", label: t("policies.modes.INTERNET_ACCESS_POINT") },
  { value: "RESTRICTED", label: t("policies.modes.RESTRICTED") },
] as const;

/** The switches that make a policy apply to all subjects of a kind. */
export function formatAllOf({ allUsers, allGroups, allDevices }: Policy): readonly string[] {
  return [
    ...(allUsers ? [t("policies.fields.allUsers")] : []),
    ...(allGroups ? [t("policies.fields.allGroups")] : []),
    ...(allDevices ? [t("policies.fields.allDevices")] : []),
  ];
}

/** The subjects of a policy in one line. */
function formatSubjects(policy: Policy): string {
  const { type, users, groups, devices } = policy;
  if (type === "SITETOSITE") return t("policies.scope.anySite");
  const names = [
    ...formatAllOf(policy),
    ...groups.map(({ name }) => name),
    ...users.map(({ id, email }) => email ?? id),
    ...devices.map(({ name }) => name),
  ];
  return formatFirst(names, t("policies.scope.noSubjects"));
}

/** The resources of a policy in one line. */
function formatResources({ type, allResources, resources }: Policy): string {
  if (allResources) return t("policies.fields.allResources");
  return formatFirst(
    resources.map(({ name }) => name),
    type === "INTERNET" ? t("policies.scope.theInternet") : t("policies.scope.noResources"),
  );
}

/** The subjects, the resources, the rule and the gateways of a policy in one line. */
export function formatScope(policy: Policy): string {
  const line = { subjects: formatSubjects(policy), resources: formatResources(policy) };
  const scope =
    policy.rule.type === "CUSTOM"
      ? t("policies.order.lineWithRule", { ...line, rule: policy.rule.name })
      : t("policies.order.line", line);
  if (policy.gateways.length === 0) return scope;
  return t("policies.order.lineThrough", {
    scope,
    gateways: formatFirst(
      policy.gateways.map(({ name }) => name),
      "",
    ),
  });
}

function formatFirst(names: readonly string[], none: string): string {
  if (names.length === 0) return none;
  // "and 1 more" would be as long as the name.
  if (names.length < 5) return names.join(", ");
  return `${names.slice(0, 3).join(", ")} ${t("common.andMore", { count: names.length - 3 })}`;
}
