import type { ItemAt } from "@gatehouse/client/calls";
import { Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { paged } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { nameColumn } from "../../lists/columns.tsx";
import { unnamedFilter } from "../../lists/filters.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { orderGateways } from "../../records/gateway-order.ts";
import { NewButton } from "../../records/new-button.tsx";
import { idIn, RecordForm } from "../../records/record-form.tsx";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { ValueNote } from "../../records/value-note.tsx";
import { formatResourceType } from "./format-resource-type.ts";
import { newFields, newResource, newResourceChanges } from "./resource-fields.tsx";
import { ResourceStatus } from "./resource-status.tsx";

const shownAddresses = 2;

const definition: ListDefinition<ItemAt<"/tenants/resources">> = {
  source: paged("/tenants/resources"),
  noun: t("resources.noun"),
  search: { label: t("common.name"), by: "name" },
  defaultSort: "name",
  refreshMs: 30_000,
  columns: [
    nameColumn("resources", "paged"),
    {
      key: "status",
      title: t("common.status"),
      cell: (resource) => <ResourceStatus resource={resource} />,
    },
    {
      key: "type",
      title: t("common.type"),
      isBelow: true,
      cell: ({ type }) => formatResourceType(type),
    },
    {
      key: "addresses",
      title: t("resources.addresses.label"),
      visibleFrom: "md",
      isBelow: true,
      cell: ({ addresses }) => (
        <Text size="sm" lineClamp={2} className="addresses">
          {addresses.length > 0 && (
            <RecordLinks
              path="addresses"
              records={addresses.slice(0, shownAddresses).map(({ id, address }) => ({ id, name: address }))}
            />
          )}
          {addresses.length > shownAddresses && ` ${t("common.andMore", { count: addresses.length - shownAddresses })}`}
        </Text>
      ),
    },
    {
      key: "gateways",
      title: t("resources.gateways.label"),
      visibleFrom: "lg",
      cell: ({ type, gateways, loadBalancingMode }) => (
        <>
          {(type !== "INTERNET" || gateways.length > 0) && (
            <RecordLinks path="gateways" records={orderGateways(gateways, loadBalancingMode)} />
          )}
          {type === "INTERNET" && <ValueNote>{t("resources.gateways.ifPolicy")}</ValueNote>}
        </>
      ),
    },
  ],
  filters: [
    {
      field: "type",
      title: t("common.type"),
      options: (["PRIVATE", "SAAS", "INTERNET"] as const).map((value) => ({ value, label: formatResourceType(value) })),
    },
    unnamedFilter,
  ],
  bulk: [
    {
      label: t("common.delete"),
      permission: "resources:write",
      danger: true,
      note: t("resources.bulk.deleteNote"),
      plan: ({ id }) => ({ method: "DELETE", path: `/tenants/resources/${id}` }),
    },
  ],
  empty: {
    title: t("resources.empty.title"),
    text: t("resources.empty.text"),
    action: { label: t("publish.title"), to: "/publish", permission: "resources:write" },
    guide: "console#publish-a-resource",
  },
};

export function ResourcesListPage() {
  const navigate = useNavigate();
  const canReadGateways = usePermission("gateways:read");
  return (
    <RecordList
      title={t("resources.title")}
      definition={definition}
      actions={
        <NewButton
          label={t("resources.create")}
          permission="resources:write"
          dialog={(close) => (
            <RecordForm
              title={t("resources.create")}
              intro={
                <RichText message="resources.createIntro" elements={{ link: <RecordLink to="/publish" inText /> }} />
              }
              fields={newFields(canReadGateways)}
              initial={newResource}
              submitLabel={t("common.create")}
              plan={newResourceChanges}
              saved={(answer) => void navigate({ to: `/resources/${idIn(answer)}` })}
              close={close}
            />
          )}
        />
      }
    />
  );
}
