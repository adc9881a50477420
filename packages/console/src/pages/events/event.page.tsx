import { Code } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { paged } from "../../app/api.ts";
import { RecordLink } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { ChangedFields } from "./changed-fields-table.tsx";
import { EventEffect } from "./event-effect.tsx";
import { formatOperation } from "./format-operation.ts";
import { formatTarget } from "./format-target.ts";
import { pageOf } from "./record-pages.ts";
import type { Event } from "./restore.ts";
import { RestorePanel } from "./restore-panel.tsx";

const events = paged("/tenants/events");

export function EventPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch, isPending } = useQuery({
    queryKey: [events.path, id],
    queryFn: ({ signal }) => events.read({ "filter[id]": id }, signal),
  });
  const event = data?.data[0];
  const gone = !isPending && error === null && event === undefined ? new Error("There is no such event.") : undefined;
  return (
    <RecordPage
      list={{ to: "/events", title: "Events" }}
      title={event && formatOperation(event.operation)}
      error={error ?? gone}
      retry={refetch}
    >
      {event && <About event={event} />}
    </RecordPage>
  );
}

function About({ event }: { readonly event: Event }) {
  return (
    <>
      <Panel title="About">
        <Facts
          facts={[
            { label: "What was changed", value: <Target event={event} /> },
            { label: "By", value: <Actor event={event} /> },
            { label: "When", value: <RelativeTime at={event.createdAt} /> },
            { label: "From", value: event.sourceAddress },
            { label: "Position", value: event.position },
            {
              label: "Generation",
              value: <RecordLink to={`/events?generation=${event.generation}`}>{event.generation}</RecordLink>,
            },
            ...(event.reason === undefined ? [] : [{ label: "Reason for overriding", value: event.reason }]),
            { label: "Request", value: <Code>{event.requestId}</Code> },
          ]}
        />
      </Panel>
      <Panel title="Before and after">
        <ChangedFields before={event.before} after={event.after} />
      </Panel>
      <EventEffect key={event.id} id={event.id} targetType={event.target.type} />
      <RestorePanel key={`restore ${event.id}`} event={event} />
    </>
  );
}

function Target({ event: { target, after } }: { readonly event: Event }) {
  const page = after === undefined ? undefined : pageOf(target.type, target.id);
  const name = target.name ?? target.id;
  return (
    <>
      {formatTarget(target.type)} {page === undefined ? name : <RecordLink to={page}>{name}</RecordLink>} (
      <RecordLink to={`/events?target.id=${target.id}`} inText>
        all of its events
      </RecordLink>
      )
    </>
  );
}

const actors: Readonly<Record<Event["actor"]["type"], string>> = {
  "api-key": "API key",
  operator: "The operator",
  system: "Gatehouse itself",
};

function Actor({ event: { actor } }: { readonly event: Event }) {
  if (actor.type === "system") return actors.system;
  return (
    <>
      {actors[actor.type]} {actor.name}
      {actor.id !== undefined && (
        <>
          {" ("}
          <RecordLink to={`/events?actor.id=${actor.id}`} inText>
            all that it did
          </RecordLink>
          )
        </>
      )}
    </>
  );
}
