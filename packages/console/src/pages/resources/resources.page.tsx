import type { ItemAt, ResultOf } from "@gatehouse/client/calls";
import { Skeleton, Stack, Text } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { paged } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import { nameColumn } from "../../lists/columns.tsx";
import { unnamedFilter } from "../../lists/filters.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { unreachableField, useFindings } from "../../records/access-findings.ts";
import { orderGateways } from "../../records/gateway-order.ts";
import { NewButton } from "../../records/new-button.tsx";
import { idIn, RecordForm } from "../../records/record-form.tsx";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { ValueNote } from "../../records/value-note.tsx";
import { formatResourceType } from "./format-resource-type.ts";
import { newFields, newResource, newResourceChanges } from "./resource-fields.tsx";
import { ResourceStatus } from "./resource-status.tsx";

const shownAddresses = 2;

type Resource = ItemAt<"/tenants/resources">;

const definition: ListDefinition<Resource> = {
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

/** No record has this id. */
const nobody = "00000000-0000-0000-0000-000000000000";

type Finding = ResultOf<"/tenants/access/findings", "get">["unreachableResources"]["first"][number];

/** The list with a filter for the resources that the findings report, and their reasons. */
function withFindings(found: readonly Finding[]): ListDefinition<Resource> {
  const reasons = new Map(found.map(({ id, reason }) => [id, reason]));
  return {
    ...definition,
    columns: definition.columns.map((column) =>
      column.key === "status"
        ? { ...column, cell: (resource) => <ResourceStatus resource={resource} found={reasons.get(resource.id)} /> }
        : column,
    ),
    filters: [
      ...(definition.filters ?? []),
      {
        field: unreachableField,
        title: t("resources.status.unreachable"),
        help: t("resources.status.unreachableHelp"),
        kind: "switch",
        parameter: "filter[id][in]",
        toStored: () => [...reasons.keys()].join(",") || nobody,
      },
    ],
  };
}

export function ResourcesListPage() {
  const navigate = useNavigate();
  const canReadGateways = usePermission("gateways:read");
  const canDecide = usePermission("decisions:read");
  const isAsked = useSearch({ strict: false, select: (search) => canDecide && unreachableField in search });
  const findings = useFindings(isAsked);
  const unreachable = findings.data?.unreachableResources;
  const shown = useMemo(
    () => (canDecide ? withFindings(unreachable?.first ?? []) : definition),
    [canDecide, unreachable],
  );
  if (isAsked && findings.error !== null) return <ProblemNotice error={findings.error} retry={findings.refetch} />;
  if (isAsked && unreachable === undefined) return <Skeleton height={420} aria-busy />;
  const isCut = isAsked && unreachable !== undefined && unreachable.first.length < unreachable.count;
  return (
    <Stack>
      <RecordList
        title={t("resources.title")}
        definition={shown}
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
      {isCut && (
        <Text c="dimmed">
          {t("resources.status.unreachableFirst", { shown: unreachable.first.length, count: unreachable.count })}
        </Text>
      )}
    </Stack>
  );
}
