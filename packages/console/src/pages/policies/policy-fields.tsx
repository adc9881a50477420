import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { whole } from "../../app/api.ts";
import { t } from "../../messages/i18n.ts";
import { choosesFound } from "../../records/choose-found.ts";
import { type CustomFieldProps, type Field, nameField, type Values } from "../../records/form-fields.tsx";
import { modes, type Policy, type PolicyType } from "./format-policy.ts";

const rules = whole("/tenants/admission-rules");

/**
 * The fields of a policy.
 *
 * @param policy the edited policy, which has the names of the records that it refers to
 */
export function policyFields(type: PolicyType, policy?: Policy): readonly Field[] {
  const name = nameField(t("policies.fields.nameExample"));
  const description: Field = { kind: "long-text", name: "description", label: t("common.description") };
  const gateways: Field = {
    kind: "records",
    name: "gateways",
    label: t("policies.fields.gateways"),
    description: t("policies.fields.gatewaysHelp"),
    path: "/tenants/gateways",
    format: namesOf(policy?.gateways),
  };
  const mode: Field = {
    kind: "choice",
    name: "mode",
    label: t("policies.fields.mode"),
    options: modes,
  };
  if (policy?.isDefault === true) return [mode, gateways, description];
  return [
    name,
    {
      kind: "choice",
      name: "action",
      label: t("policies.action"),
      options: [
        { value: "allow", label: t("policies.actions.allow") },
        { value: "deny", label: t("policies.actions.deny") },
      ],
    },
    ...(type === "INTERNET" ? [mode] : []),
    ...(type === "SITETOSITE" ? [] : sources(policy)),
    {
      kind: "records",
      name: "resources",
      section: { title: t("policies.sections.destination"), help: t("policies.sections.destinationHelp") },
      label: t("policies.fields.resources"),
      path: "/tenants/resources",
      format: namesOf(policy?.resources),
    },
    { kind: "switch", name: "allResources", label: t("policies.fields.allResources") },
    gateways,
    {
      kind: "words",
      name: "sourceIps",
      section: { title: t("policies.sections.conditions"), help: t("policies.sections.conditionsHelp") },
      label: t("policies.fields.sourceIps"),
      description: t("policies.fields.sourceIpsHelp"),
      example: "192.0.2.0/24",
    },
    {
      kind: "custom",
      name: "rule",
      label: t("policies.fields.rule"),
      render: (props) => <RuleChoice {...props} />,
      format: (value) => (policy !== undefined && value === policy.rule.id ? policy.rule.name : String(value)),
    },
    description,
  ];
}

/** Selects the same people as the switch for all users, so that only policies that already have it show it. */
const anyGroup: Field = {
  kind: "switch",
  name: "allGroups",
  label: t("policies.fields.allGroups"),
  description: t("policies.fields.allGroupsHelp"),
};

/** Each switch that selects all records follows the field that selects some of them. */
function sources(policy: Policy | undefined): readonly Field[] {
  return [
    {
      kind: "records",
      name: "groups",
      section: { title: t("policies.sections.subjects"), help: t("policies.sections.subjectsHelp") },
      label: t("policies.fields.groups"),
      path: "/tenants/groups",
      format: namesOf(policy?.groups),
    },
    ...(policy?.allGroups === true ? [anyGroup] : []),
    {
      kind: "records",
      name: "users",
      label: t("policies.fields.users"),
      path: "/tenants/users",
      format: namesOf(policy?.users.map(({ id, email }) => ({ id, name: email ?? id }))),
    },
    {
      kind: "switch",
      name: "allUsers",
      label: t("policies.fields.allUsers"),
      description: t("policies.fields.allUsersHelp"),
    },
    {
      kind: "records",
      name: "devices",
      label: t("policies.fields.devices"),
      path: "/tenants/devices",
      format: namesOf(policy?.devices),
    },
    {
      kind: "switch",
      name: "allDevices",
      label: t("policies.fields.allDevices"),
      description: t("policies.fields.allDevicesHelp"),
    },
  ];
}

function namesOf(records: readonly { readonly id: string; readonly name: string }[] = []) {
  const names = new Map(records.map(({ id, name }) => [id, name]));
  return (id: string) => names.get(id) ?? id;
}

function RuleChoice({ value, onChange, error }: CustomFieldProps) {
  const { data = [] } = useQuery({
    queryKey: [rules.path, "list", undefined],
    queryFn: ({ signal }) => rules.read(signal),
  });
  return (
    <Select
      label={t("policies.fields.rule")}
      description={t("policies.fields.ruleHelp")}
      error={error}
      data={data.map(({ id, name, type }) => ({
        value: id,
        label: type === "ALLOW" ? t("policies.rule.none") : type === "DENY" ? t("policies.rule.never") : name,
      }))}
      value={value === "" ? (data.find(({ type }) => type === "ALLOW")?.id ?? null) : String(value)}
      onChange={(id) => onChange(id ?? "")}
      allowDeselect={false}
      searchable
      {...choosesFound}
    />
  );
}

const idsOf = (records: readonly { readonly id: string }[]) => records.map(({ id }) => id);

export function policyValues(policy: Policy): Values {
  const { name, action, mode, allUsers, allGroups, allDevices, allResources, sourceIps, rule, description } = policy;
  return {
    name,
    action: action ? "allow" : "deny",
    mode: mode ?? "LOCAL",
    allUsers,
    allGroups,
    allDevices,
    allResources,
    groups: idsOf(policy.groups),
    users: idsOf(policy.users),
    devices: idsOf(policy.devices),
    resources: idsOf(policy.resources),
    gateways: idsOf(policy.gateways),
    sourceIps: [...sourceIps],
    rule: rule.id,
    description: description ?? "",
  };
}

export const newPolicy: Values = {
  name: "",
  action: "allow",
  mode: "LOCAL",
  allUsers: false,
  allGroups: false,
  allDevices: false,
  allResources: false,
  groups: [],
  users: [],
  devices: [],
  resources: [],
  gateways: [],
  sourceIps: [],
  rule: "",
  description: "",
};

export interface PolicyBody {
  name: string;
  action: boolean;
  allUsers?: boolean;
  allGroups?: boolean;
  allDevices?: boolean;
  allResources: boolean;
  groups?: string[];
  users?: string[];
  devices?: string[];
  resources: string[];
  gateways: string[];
  sourceIps: string[];
  description: string;
  mode?: "LOCAL" | "RESTRICTED" | "INTERNET_ACCESS_POINT";
  rule?: string;
}

export function bodyOf(type: PolicyType, values: Values): PolicyBody {
  const { mode, rule, action, allUsers, allGroups, allDevices, groups, users, devices, ...rest } =
    values as unknown as Required<Omit<PolicyBody, "action">> & { readonly action: "allow" | "deny" }; // `policyFields` declares these types
  return {
    ...rest,
    action: action === "allow",
    ...(type === "SITETOSITE" ? {} : { allUsers, allGroups, allDevices, groups, users, devices }),
    // A policy that denies access has no traffic to route.
    ...(type === "INTERNET" && action === "allow" ? { mode } : {}),
    ...(rule === "" ? {} : { rule }),
  };
}

/** The fields of the default policy that can change. */
export function bodyOfDefault(values: Values): Pick<PolicyBody, "gateways" | "description" | "mode"> {
  const { mode, gateways, description } = values as unknown as Required<PolicyBody>; // `policyFields` declares these types
  return { mode, gateways, description };
}
