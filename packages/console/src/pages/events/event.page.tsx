import type { ItemAt } from "@gatehouse/client/calls";
import { Code, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { paged } from "../../app/api.ts";
import { Moment } from "../../records/moment.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { changedFields } from "./changed-fields.ts";
import { EventEffect } from "./event-effect.tsx";
import { sayOperation } from "./say-operation.ts";

type Event = ItemAt<"/tenants/events">;
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
      title={event && sayOperation(event.operation)}
      error={error ?? gone}
      retry={refetch}
    >
      {event && <About event={event} />}
    </RecordPage>
  );
}

function About({ event }: { readonly event: Event }) {
  const changes = changedFields(event.before, event.after);
  return (
    <>
      <Panel title="About">
        <Facts
          facts={[
            { label: "What was changed", value: `${event.target.type} ${event.target.name ?? event.target.id}` },
            { label: "By", value: `${event.actor.name} (${event.actor.type})` },
            { label: "When", value: <Moment at={event.createdAt} /> },
            { label: "From", value: event.sourceAddress },
            { label: "Position", value: event.position },
            { label: "Generation", value: event.generation },
            ...(event.reason === undefined ? [] : [{ label: "Reason for overriding", value: event.reason }]),
            { label: "Request", value: <Code>{event.requestId}</Code> },
          ]}
        />
      </Panel>
      <Panel title="Before and after">
        {changes.length === 0 ? (
          <Text c="dimmed">The record looks the same before and after.</Text>
        ) : (
          <Table className="record-table">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Field</Table.Th>
                <Table.Th>Before</Table.Th>
                <Table.Th>After</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {changes.map(({ field, before, after }) => (
                <Table.Tr key={field}>
                  <Table.Th scope="row">{field}</Table.Th>
                  <Table.Td>{before === undefined ? <Text c="dimmed">–</Text> : <Code>{before}</Code>}</Table.Td>
                  <Table.Td>{after === undefined ? <Text c="dimmed">–</Text> : <Code>{after}</Code>}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
      </Panel>
      <EventEffect key={event.id} id={event.id} targetType={event.target.type} />
    </>
  );
}
