import { useNavigate } from "@tanstack/react-router";
import { api, whole } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { bodyOf, formatPorts, kinds, newProtocol, type Protocol, protocolFields } from "./protocol-fields.tsx";

const definition: ListDefinition<Protocol> = {
  source: whole("/tenants/protocols"),
  noun: "protocols",
  search: { label: "Name or port", by: (protocol) => `${protocol.name} ${formatPorts(protocol)}` },
  defaultSort: "name",
  columns: [
    nameColumn("protocols", "whole"),
    { key: "ports", title: "Protocols and ports", cell: formatPorts },
    { key: "type", title: "Kind", visibleFrom: "xs", sortBy: ({ type }) => type, cell: ({ type }) => kinds[type] },
  ],
  filters: [
    {
      field: "type",
      title: "Kind",
      options: Object.entries(kinds).map(([value, label]) => ({ value, label })),
      matches: ({ type }, value) => type === value,
    },
  ],
  empty: { title: "No protocols yet", text: "Protocols say which ports of an address may be reached." },
};

export function ProtocolsListPage() {
  const navigate = useNavigate();
  return (
    <RecordList
      title="Protocols"
      definition={definition}
      actions={
        <NewButton
          label="Create a protocol"
          permission="protocols:write"
          dialog={(close) => (
            <RecordForm
              title="Create a protocol"
              fields={protocolFields}
              initial={newProtocol}
              submitLabel="Create"
              submit={async (values) => {
                const { id } = await api.post("/tenants/protocols", { body: bodyOf(values) });
                void navigate({ to: `/protocols/${id}` });
              }}
              close={close}
            />
          )}
        />
      }
    />
  );
}
