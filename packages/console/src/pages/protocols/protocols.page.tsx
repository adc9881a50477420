import { useNavigate } from "@tanstack/react-router";
import { api, whole } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { NewButton } from "../../records/new-button.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { bodyOf, formatKind, formatPorts, newProtocol, type Protocol, protocolFields } from "./protocol-fields.tsx";

const definition: ListDefinition<Protocol> = {
  source: whole("/tenants/protocols"),
  noun: t("protocols.noun"),
  search: {
    label: t("protocols.searchLabel"),
    // People type a range with a hyphen.
    by: (protocol) => `${protocol.name} ${formatPorts(protocol).replaceAll("–", "-")}`,
  },
  defaultSort: "name",
  columns: [
    nameColumn("protocols", "whole"),
    { key: "ports", title: t("protocols.fields.protocolsAndPorts"), isBelow: true, cell: formatPorts },
    {
      key: "type",
      title: t("protocols.fields.kind"),
      isBelow: true,
      sortBy: ({ type }) => formatKind(type),
      cell: ({ type }) => formatKind(type),
    },
  ],
  filters: [
    {
      field: "type",
      title: t("protocols.fields.kind"),
      options: (["PREDEFINED", "CUSTOM"] as const).map((value) => ({ value, label: formatKind(value) })),
      matches: ({ type }, value) => (type === "CUSTOM") === (value === "CUSTOM"),
    },
  ],
  empty: {
    title: t("protocols.empty.title"),
    text: t("protocols.empty.text"),
    action: { label: t("protocols.create"), to: "/protocols?new=1", permission: "protocols:write" },
    guide: "glossary#records",
  },
};

export function ProtocolsListPage() {
  const navigate = useNavigate();
  return (
    <RecordList
      title={t("protocols.title")}
      definition={definition}
      actions={
        <NewButton
          label={t("protocols.create")}
          permission="protocols:write"
          dialog={(close) => (
            <RecordForm
              title={t("protocols.create")}
              fields={protocolFields}
              initial={newProtocol}
              submitLabel={t("common.create")}
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
