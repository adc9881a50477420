import type { ItemAt } from "@gatehouse/client/calls";
import { Text } from "@mantine/core";
import { paged } from "../../app/api.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { RecordLinks } from "../../records/record-link.tsx";
import { Status } from "../../records/status.tsx";

type Policy = ItemAt<"/tenants/policies">;

const types = { PRIVATE: "Private", SAAS: "SaaS", INTERNET: "Internet", SITETOSITE: "Site to site" } as const;

function Who({
  policy: { type, allUsers, allGroups, allDevices, users, groups, devices },
}: {
  readonly policy: Policy;
}) {
  const all = [allUsers && "all users", allGroups && "all groups", allDevices && "all devices"].filter(Boolean);
  if (type === "SITETOSITE") return <Text size="sm">Any site</Text>;
  if (all.length > 0) return <Text size="sm">{all.join(", ")}</Text>;
  const named = users.length + groups.length + devices.length;
  if (named === 0) return <Text c="dimmed">Nobody</Text>;
  return (
    <>
      {groups.length > 0 && <RecordLinks path="groups" records={groups} />}
      {groups.length > 0 && users.length > 0 && ", "}
      {users.length > 0 && (
        <RecordLinks path="users" records={users.map(({ id, email }) => ({ id, name: email ?? id }))} />
      )}
      {devices.length > 0 && groups.length + users.length > 0 && ", "}
      {devices.length > 0 && <RecordLinks path="devices" records={devices} />}
    </>
  );
}

const definition: ListDefinition<Policy> = {
  source: paged("/tenants/policies"),
  noun: "policies",
  search: { label: "Name", by: "name" },
  defaultSort: "order",
  columns: [
    { key: "order", title: "Order", sortBy: "order", cell: ({ order }) => order },
    {
      key: "name",
      title: "Name",
      sortBy: "name",
      cell: ({ name, active }) => (active ? name : <Text c="dimmed">{name} (inactive)</Text>),
    },
    { key: "type", title: "Type", from: "xs", cell: ({ type }) => types[type] },
    {
      key: "action",
      title: "Decision",
      cell: ({ action }) => <Status mood={action ? "good" : "bad"}>{action ? "Allow" : "Deny"}</Status>,
    },
    { key: "who", title: "Who", from: "md", cell: (policy) => <Who policy={policy} /> },
    {
      key: "what",
      title: "What",
      from: "lg",
      cell: ({ allResources, resources }) =>
        allResources ? "all resources" : <RecordLinks path="resources" records={resources} none="–" />,
    },
  ],
  filters: [
    { field: "type", title: "Type", options: Object.entries(types).map(([value, label]) => ({ value, label })) },
    {
      field: "active",
      title: "State",
      options: [
        { value: "true", label: "Active" },
        { value: "false", label: "Inactive" },
      ],
    },
    {
      field: "action",
      title: "Decision",
      options: [
        { value: "true", label: "Allow" },
        { value: "false", label: "Deny" },
      ],
    },
  ],
  empty: { title: "No policies yet", text: "Without a policy that allows it, nobody reaches a private resource." },
};

export function PoliciesListPage() {
  return <RecordList title="Policies" definition={definition} />;
}
