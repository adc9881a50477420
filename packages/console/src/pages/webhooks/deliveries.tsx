/** What was delivered to a webhook, and what came of each attempt. */
import type { ItemAt } from "@gatehouse/client/calls";
import { Button, Code, Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import { api, paged } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { Status, type Tone } from "../../records/status.tsx";
import { useAction } from "../../records/use-record.ts";

const path = "/tenants/webhooks/{id}/deliveries";

type Delivery = ItemAt<typeof path>;

const states: Readonly<Record<Delivery["status"], { readonly tone: Tone; readonly text: string }>> = {
  PENDING: { tone: "waiting", text: "Pending" },
  DELIVERED: { tone: "good", text: "Delivered" },
  FAILED: { tone: "bad", text: "Failed" },
};

interface DeliveriesProps {
  readonly webhookId: string;
  readonly isActive: boolean;
}

export function Deliveries({ webhookId, isActive }: DeliveriesProps) {
  const canWrite = usePermission("webhooks:write") && isActive;
  const canReadEvents = usePermission("events:read");
  const definition = useMemo((): ListDefinition<Delivery> => {
    const about = ({ type, eventId }: Delivery) =>
      eventId === undefined || !canReadEvents ? type : <RecordLink to={`/events/${eventId}`}>{type}</RecordLink>;
    return {
      source: paged(path, { id: webhookId }),
      noun: "deliveries",
      search: { label: "Type", by: "type" },
      defaultSort: "-createdAt",
      refreshMs: 5_000,
      columns: [
        {
          key: "createdAt",
          title: "When",
          sortBy: "createdAt",
          cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
        },
        { key: "type", title: "Of", cell: about },
        {
          key: "status",
          title: "State",
          cell: ({ status }) => <Status tone={states[status].tone}>{states[status].text}</Status>,
        },
        { key: "attempts", title: "Attempts", visibleFrom: "sm", cell: (delivery) => <Attempts delivery={delivery} /> },
        ...(canWrite
          ? [{ key: "again", title: "Again", cell: ({ id }: Delivery) => <Again webhookId={webhookId} id={id} /> }]
          : []),
      ],
      filters: [
        {
          field: "status",
          title: "State",
          options: Object.entries(states).map(([value, { text }]) => ({ value, label: text })),
        },
      ],
      empty: {
        title: "Nothing was delivered yet",
        text: "Each event that the webhook asks for is listed here for 30 days, with what came of it.",
      },
    };
  }, [webhookId, canWrite, canReadEvents]);
  return (
    <Panel title="Deliveries">
      <RecordList label="Deliveries" definition={definition} />
    </Panel>
  );
}

function Attempts({ delivery: { attempts, nextAttemptAt } }: { readonly delivery: Delivery }) {
  const last = attempts.at(-1);
  return (
    <Stack gap={2}>
      <Text size="sm">
        {attempts.length}
        {last !== undefined && (
          <>
            , the last: <Code>{last.error ?? last.statusCode}</Code> after {last.durationMs} ms
          </>
        )}
      </Text>
      {nextAttemptAt !== null && (
        <Text size="sm" c="dimmed">
          Next <RelativeTime at={nextAttemptAt} />
        </Text>
      )}
    </Stack>
  );
}

function Again({ webhookId, id }: { readonly webhookId: string; readonly id: string }) {
  const again = useAction({
    run: () =>
      api.post("/tenants/webhooks/{id}/deliveries/{deliveryId}/redeliver", {
        path: { id: webhookId, deliveryId: id },
      }),
    done: "It is delivered once more",
  });
  return (
    <Button size="compact-sm" variant="default" loading={again.isPending} onClick={() => again.mutate()}>
      Deliver again
    </Button>
  );
}
