import { targetTypes } from "@gatehouse/contract/event-types";
import { Anchor, Breadcrumbs, Code, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { paged } from "../../app/api.ts";
import { periodFilter } from "../../lists/filters.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { formatDateTime, formatOwnZone, formatTime } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { absent } from "../../records/absent.tsx";
import { formatActor } from "../../records/format-actor.ts";
import { Kind } from "../../records/kind-icon.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { pageOf } from "../../records/record-pages.ts";
import { WholeWords } from "../../records/whole-words.tsx";
import { AuditExport } from "./audit-export.tsx";
import type { Event } from "./event.ts";
import { FollowLive } from "./follow-live.tsx";
import { formatEvent, identifierOf } from "./format-operation.ts";
import { formatTarget, nameOfTarget } from "./format-target.ts";

const source = paged("/tenants/events");

const definition: ListDefinition<Event> = {
  source,
  noun: t("events.noun"),
  search: { label: t("events.searchLabel"), by: "target.name" },
  defaultSort: "-position",
  columns: [
    {
      key: "operation",
      title: t("events.fields.operation"),
      cell: (event) => (
        <Kind of="events">
          <RecordLink to={`/events/${event.id}`}>{formatEvent(event)}</RecordLink>
        </Kind>
      ),
    },
    {
      key: "target",
      title: t("events.fields.target"),
      isBelow: true,
      cell: ({ target }) => <WholeWords text={nameOfTarget(target) ?? formatTarget(target.type)} />,
    },
    {
      key: "type",
      title: t("events.fields.targetType"),
      visibleFrom: "lg",
      cell: ({ target }) => formatTarget(target.type),
    },
    {
      key: "actor",
      title: t("events.fields.actor"),
      isBelow: true,
      cell: ({ actor }) => <WholeWords text={formatActor(actor)} />,
    },
    {
      key: "createdAt",
      title: t("events.fields.timeIn", { zone: formatOwnZone() }),
      cardTitle: t("events.fields.time"),
      // The order of the events, which is also that of their times.
      sortBy: "position",
      isBelow: true,
      cell: ({ createdAt }) => (
        <Text className="one-line" title={formatDateTime(createdAt)}>
          {formatTime(createdAt)}
        </Text>
      ),
    },
    {
      key: "from",
      title: t("events.fields.source"),
      visibleFrom: "lg",
      cell: ({ sourceAddress }) => (sourceAddress === undefined ? absent : <Code>{sourceAddress}</Code>),
    },
  ],
  filters: [
    {
      field: "target.type",
      title: t("events.fields.targetType"),
      options: targetTypes.map((value) => ({ value, label: formatTarget(value) })),
    },
    periodFilter,
    // A chosen start replaces that of the period.
    {
      field: "from",
      title: t("events.fields.from"),
      kind: "date-time",
      parameter: "filter[createdAt][gte]",
      isAdvanced: true,
    },
    {
      field: "to",
      title: t("events.fields.until"),
      kind: "date-time",
      parameter: "filter[createdAt][lte]",
      isAdvanced: true,
    },
    {
      field: "operation",
      title: t("events.fields.operation"),
      kind: "part",
      isAdvanced: true,
      // The list shows operations in words. The API compares them without regard to case.
      toStored: identifierOf,
    },
    { field: "actor.name", title: t("events.fields.actor"), kind: "part", isAdvanced: true },
    {
      field: "actor.type",
      title: t("events.fields.actorType"),
      isAdvanced: true,
      options: [
        { value: "user", label: t("events.actors.user") },
        { value: "api-key", label: t("events.actors.apiKey") },
        { value: "enrolment-key", label: t("events.actors.enrolmentKey") },
        { value: "gateway", label: t("events.actors.gateway") },
        { value: "device", label: t("events.actors.device") },
        { value: "operator", label: t("events.actors.operator") },
        { value: "system", label: t("events.actors.system") },
      ],
    },
    { field: "sourceAddress", title: t("events.fields.source"), kind: "text", isAdvanced: true },
    {
      field: "target.id",
      title: t("events.fields.targetId"),
      kind: "text",
      // The history of a record can include others, such as the conditions of a policy.
      parameter: "filter[target.id][in]",
      isAdvanced: true,
    },
    { field: "actor.id", title: t("events.fields.actorId"), kind: "text", isAdvanced: true },
    { field: "requestId", title: t("events.fields.request"), kind: "text", isAdvanced: true },
    { field: "generation", title: t("events.fields.generation"), kind: "text", isAdvanced: true },
  ],
  empty: {
    title: t("events.empty.title"),
    text: t("events.empty.text"),
    action: { label: t("overview.title"), to: "/overview", permission: "events:read" },
    guide: "console#events",
  },
};

/** The latest event of the record whose history the list shows. */
function useRecordOfHistory(): Event | undefined {
  const search = useSearch({ strict: false }) as Readonly<Record<string, string>>; // the router parses every value as a string
  // The first id is that of the record. Others are those of records that belong to it.
  const [id = ""] = (search["target.id"] ?? "").split(",");
  const { data } = useQuery({
    queryKey: [source.path, "record of history", id],
    enabled: id !== "",
    queryFn: ({ signal }) => source.read({ "filter[target.id]": id, sort: "-position", limit: 1 }, signal),
  });
  return id === "" ? undefined : data?.data[0];
}

export function EventsListPage() {
  const latest = useRecordOfHistory();
  const name = latest && (latest.target.name ?? formatTarget(latest.target.type));
  return (
    <RecordList
      title={name === undefined ? t("events.title") : t("events.historyOf", { name })}
      trail={latest && <Trail event={latest} />}
      stated={latest && "target.id"}
      definition={definition}
      actions={
        <>
          <FollowLive definition={definition} />
          <AuditExport definition={definition} />
        </>
      }
    />
  );
}

/** The way back to the record, unless it was deleted. */
function Trail({ event: { target, after } }: { readonly event: Event }) {
  const page = after === undefined ? undefined : pageOf(target.type, target.id);
  if (page === undefined) return null;
  return (
    <Breadcrumbs className="trail">
      <Anchor component={Link} to={page}>
        <bdi>{target.name ?? formatTarget(target.type)}</bdi>
      </Anchor>
      <Text c="dimmed">{t("records.links.history")}</Text>
    </Breadcrumbs>
  );
}
