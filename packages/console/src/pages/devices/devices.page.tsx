import type { ItemAt } from "@gatehouse/client/calls";
import { paged } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { StatusOf } from "../../records/status.tsx";

const definition: ListDefinition<ItemAt<"/tenants/devices">> = {
  source: paged("/tenants/devices"),
  noun: "devices",
  search: { label: "Name", by: "name" },
  defaultSort: "name",
  refreshMs: 30_000,
  columns: [
    nameColumn("devices", "paged"),
    { key: "status", title: "Status", cell: ({ status }) => <StatusOf value={status} /> },
    {
      key: "user",
      title: "User",
      visibleFrom: "xs",
      cell: ({ user }) =>
        user === undefined ? "Nobody" : <RecordLink to={`/users/${user.id}`}>{user.email}</RecordLink>,
    },
    {
      key: "os",
      title: "System",
      visibleFrom: "md",
      cell: ({ os, osVersion }) => [os, osVersion].filter(Boolean).join(" "),
    },
    {
      key: "lastConnection",
      title: "Last connection",
      sortBy: "lastConnection",
      visibleFrom: "sm",
      cell: ({ lastConnection }) => <RelativeTime at={lastConnection} />,
    },
  ],
  filters: [
    {
      field: "active",
      title: "Activation",
      options: [
        { value: "true", label: "Active" },
        { value: "false", label: "Deactivated" },
      ],
    },
  ],
  empty: {
    title: "No devices yet",
    text: "Invite a user first. The agent on the user's device then makes a key pair, and enrols the device by POST /tenants/devices with the public key; the private one never leaves the device. Enrolled devices appear here by themselves.",
  },
};

export function DevicesListPage() {
  return <RecordList title="Devices" definition={definition} />;
}
