import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { whole } from "../../app/api.ts";
import type { CustomFieldProps, Field, Values } from "../../records/form-fields.tsx";
import { modes, type Policy, type PolicyType } from "./format-policy.ts";

const rules = whole("/tenants/admission-rules");

/** The fields of a policy of a type. @param policy the one that is edited: its records have names */
export function policyFields(type: PolicyType, policy?: Policy): readonly Field[] {
  const name: Field = { kind: "text", name: "name", label: "Name", required: true };
  const description: Field = { kind: "long-text", name: "description", label: "Description" };
  const gateways: Field = {
    kind: "records",
    name: "gateways",
    label: "Gateways",
    description: "Only these may carry it. None: all that the resource has.",
    path: "/tenants/gateways",
    format: namesOf(policy?.gateways),
  };
  const mode: Field = {
    kind: "choice",
    name: "mode",
    label: "Internet traffic goes",
    options: modes,
  };
  if (policy?.isDefault === true) return [mode, gateways, description];
  return [
    name,
    {
      kind: "choice",
      name: "action",
      label: "Decision",
      options: [
        { value: "allow", label: "Allow" },
        { value: "deny", label: "Deny" },
      ],
    },
    ...(type === "INTERNET" ? [mode] : []),
    ...(type === "SITETOSITE" ? [] : sources(policy)),
    { kind: "switch", name: "allResources", label: "All resources" },
    {
      kind: "records",
      name: "resources",
      label: "Resources",
      path: "/tenants/resources",
      format: namesOf(policy?.resources),
    },
    {
      kind: "words",
      name: "sourceIps",
      label: "Source addresses",
      description: "Requests must come from one of these. None: from anywhere.",
      placeholder: "192.0.2.0/24",
    },
    {
      kind: "custom",
      name: "rule",
      label: "Admission rule",
      render: (props) => <RuleChoice {...props} />,
      format: (value) => (policy !== undefined && value === policy.rule.id ? policy.rule.name : String(value)),
    },
    gateways,
    description,
  ];
}

function sources(policy: Policy | undefined): readonly Field[] {
  return [
    { kind: "switch", name: "allUsers", label: "All users" },
    { kind: "switch", name: "allGroups", label: "Members of any group" },
    { kind: "switch", name: "allDevices", label: "All devices" },
    { kind: "records", name: "groups", label: "Groups", path: "/tenants/groups", format: namesOf(policy?.groups) },
    {
      kind: "records",
      name: "users",
      label: "Users",
      path: "/tenants/users",
      format: namesOf(policy?.users.map(({ id, email }) => ({ id, name: email ?? id }))),
    },
    { kind: "records", name: "devices", label: "Devices", path: "/tenants/devices", format: namesOf(policy?.devices) },
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
      label="Admission rule"
      description="The condition that each request must meet beside the above."
      error={error}
      data={data.map(({ id, name, type }) => ({
        value: id,
        label: type === "ALLOW" ? "None: always" : type === "DENY" ? "Never" : name,
      }))}
      value={value === "" ? (data.find(({ type }) => type === "ALLOW")?.id ?? null) : String(value)}
      onChange={(id) => onChange(id ?? "")}
      allowDeselect={false}
      searchable
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
    values as unknown as Required<Omit<PolicyBody, "action">> & { readonly action: "allow" | "deny" }; // as the fields make them
  return {
    ...rest,
    action: action === "allow",
    ...(type === "SITETOSITE" ? {} : { allUsers, allGroups, allDevices, groups, users, devices }),
    // Whoever is denied goes nowhere.
    ...(type === "INTERNET" && action === "allow" ? { mode } : {}),
    ...(rule === "" ? {} : { rule }),
  };
}

/** What may be changed of the default policy. */
export function bodyOfDefault(values: Values): Pick<PolicyBody, "gateways" | "description" | "mode"> {
  const { mode, gateways, description } = values as unknown as Required<PolicyBody>; // as above
  return { mode, gateways, description };
}
