import { Code, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { paged } from "../../app/api.ts";
import { formatOwnZone, formatRelativeTime, formatTime, uncapitalize } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { formatActor, formatActorType } from "../../records/format-actor.ts";
import { RecordLink } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { pageOf } from "../../records/record-pages.ts";
import { ShortTime } from "../../records/relative-time.tsx";
import { ChangedFields } from "./changed-fields-table.tsx";
import type { Event } from "./event.ts";
import { EventEffect } from "./event-effect.tsx";
import { formatEvent } from "./format-operation.ts";
import { formatTarget } from "./format-target.ts";
import { RevertPanel } from "./revert-panel.tsx";

const events = paged("/tenants/events");

export function EventPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch, isPending } = useQuery({
    queryKey: [events.path, id],
    queryFn: ({ signal }) => events.read({ "filter[id]": id }, signal),
  });
  const event = data?.data[0];
  return (
    <RecordPage
      list={{ to: "/events", title: t("events.title") }}
      title={event && formatTitle(event)}
      error={error}
      isMissing={!isPending && error === null && event === undefined}
      retry={refetch}
    >
      {event && <About event={event} />}
    </RecordPage>
  );
}

function formatTitle(event: Event): string {
  const title = formatEvent(event);
  const { name } = event.target;
  return name === undefined ? title : t("events.named", { operation: title, name });
}

/** The last revert of an event. */
function useRevertOf(id: string): Event | undefined {
  const { data } = useQuery({
    queryKey: [events.path, id, "reverts"],
    queryFn: ({ signal }) => events.read({ "filter[reverts]": id, sort: "-position", limit: 1 }, signal),
  });
  return data?.data.find(({ reverts }) => reverts === id);
}

function About({ event }: { readonly event: Event }) {
  const revert = useRevertOf(event.id);
  return (
    <>
      <Panel title={t("common.about")}>
        <Facts
          facts={[
            { label: t("events.fields.target"), value: <Target event={event} /> },
            { label: t("events.fields.actor"), value: <Actor event={event} /> },
            {
              label: t("events.fields.time"),
              value: t("events.at", {
                time: formatTime(event.createdAt),
                zone: formatOwnZone(),
                ago: formatRelativeTime(event.createdAt, Date.now()),
              }),
            },
            { label: t("events.fields.source"), value: event.sourceAddress && <Code>{event.sourceAddress}</Code> },
            { label: t("events.fields.position"), value: event.position },
            {
              label: t("events.fields.generation"),
              value: <RecordLink to={`/events?generation=${event.generation}`}>{event.generation}</RecordLink>,
            },
            ...(event.reason === undefined ? [] : [{ label: t("events.fields.overrideReason"), value: event.reason }]),
            ...(event.reverts === undefined
              ? []
              : [
                  {
                    label: t("events.fields.reverts"),
                    value: <RecordLink to={`/events/${event.reverts}`}>{t("events.reverted")}</RecordLink>,
                  },
                ]),
            ...(revert === undefined
              ? []
              : [
                  {
                    label: t("events.fields.revertedBy"),
                    value: (
                      <Group gap="0 8px">
                        <RecordLink to={`/events/${revert.id}`}>{formatEvent(revert)}</RecordLink>
                        <ShortTime at={revert.createdAt} />
                      </Group>
                    ),
                  },
                ]),
            { label: t("events.fields.request"), value: <Code>{event.requestId}</Code> },
          ]}
        />
        <Text size="sm" c="dimmed" mt="md">
          {t("events.fieldsHelp")}
        </Text>
      </Panel>
      <Panel title={t("events.beforeAndAfter")}>
        <ChangedFields before={event.before} after={event.after} />
      </Panel>
      <EventEffect key={event.id} id={event.id} targetType={event.target.type} operation={event.operation} />
      <RevertPanel key={`revert ${event.id}`} event={event} isReverted={revert !== undefined} />
    </>
  );
}

/** Names and links side by side. Links stand apart from the words, so they need no underline. */
function Target({ event: { target, after } }: { readonly event: Event }) {
  const page = after === undefined ? undefined : pageOf(target.type, target.id);
  const name = target.name ?? target.id;
  return (
    <Group gap="4px 16px">
      <NameWithKind name={name} kind={formatTarget(target.type)} page={page} />
      <RecordLink to={`/events?target.id=${target.id}`}>{t("events.history")}</RecordLink>
    </Group>
  );
}

function Actor({ event: { actor } }: { readonly event: Event }) {
  const { type, id, name } = actor;
  if (type === "system" || id === undefined) return formatActor(actor);
  const page = pageOf(type, id);
  const kind = type === "user" ? undefined : formatActorType(type);
  return (
    <Group gap="4px 16px">
      <NameWithKind name={name} kind={kind} page={page} />
      <RecordLink to={`/events?actor.id=${id}`}>{t("events.actors.activity")}</RecordLink>
    </Group>
  );
}

interface NameWithKindProps {
  readonly name: string;
  /** Undefined for people, whose names say what they are. */
  readonly kind: string | undefined;
  readonly page: string | undefined;
}

/** Such as "Terraform (API key)", as in the list of events. */
function NameWithKind({ name, kind, page }: NameWithKindProps) {
  const shown = page === undefined ? <bdi>{name}</bdi> : <RecordLink to={page}>{name}</RecordLink>;
  // The operator has no name of its own.
  if (kind === undefined || kind === name) return <span>{shown}</span>;
  return (
    <span>
      {shown} ({uncapitalize(kind)})
    </span>
  );
}
