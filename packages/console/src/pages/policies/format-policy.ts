import type { ItemAt } from "@gatehouse/client/calls";

export type Policy = ItemAt<"/tenants/policies">;
export type PolicyType = Policy["type"];

export const policyTypes: readonly { readonly value: PolicyType; readonly label: string; readonly empty: string }[] = [
  { value: "PRIVATE", label: "Private", empty: "Without a policy that allows it, nobody reaches a private resource." },
  { value: "SAAS", label: "SaaS", empty: "Without a policy that allows it, nobody reaches a SaaS resource." },
  { value: "INTERNET", label: "Internet", empty: "The default policy decides what no other does." },
  { value: "SITETOSITE", label: "Site to site", empty: "Without a policy that allows it, no site reaches another." },
];

export const modes = [
  { value: "LOCAL", label: "Straight from the device" },
  { value: "INTERNET_ACCESS_POINT", label: "Through a gateway" },
  { value: "RESTRICTED", label: "Blocked" },
] as const;

/** Whom a policy is about, in a line. */
export function formatWho({ type, allUsers, allGroups, allDevices, users, groups, devices }: Policy): string {
  if (type === "SITETOSITE") return "Any site";
  const all = [allUsers && "All users", allGroups && "Members of any group", allDevices && "All devices"];
  const named = [
    ...groups.map(({ name }) => name),
    ...users.map(({ id, email }) => email ?? id),
    ...devices.map(({ name }) => name),
  ];
  return formatFirst([...all.filter((text) => text !== false), ...named], "Nobody");
}

export function formatWhat({ type, allResources, resources }: Policy): string {
  if (allResources) return "All resources";
  return formatFirst(
    resources.map(({ name }) => name),
    type === "INTERNET" ? "The internet" : "Nothing",
  );
}

function formatFirst(names: readonly string[], none: string): string {
  const shown = names.slice(0, 3);
  if (shown.length === 0) return none;
  return names.length > shown.length ? `${shown.join(", ")} and ${names.length - shown.length} more` : shown.join(", ");
}
