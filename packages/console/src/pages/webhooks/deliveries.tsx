/** The deliveries of a webhook, with the result of each attempt. */
import type { ItemAt } from "@gatehouse/client/calls";
import { Button, Code, Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import { api, paged } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { Status, type Tone } from "../../records/status.tsx";
import { useAction } from "../../records/use-record.ts";

const path = "/tenants/webhooks/{id}/deliveries";

type Delivery = ItemAt<typeof path>;

const states: Readonly<Record<Delivery["status"], { readonly tone: Tone; readonly text: string }>> = {
  PENDING: { tone: "waiting", text: t("webhooks.deliveries.states.PENDING") },
  DELIVERED: { tone: "good", text: t("webhooks.deliveries.states.DELIVERED") },
  FAILED: { tone: "bad", text: t("webhooks.deliveries.states.FAILED") },
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
      noun: t("webhooks.deliveries.noun"),
      search: { label: t("webhooks.deliveries.columns.event"), by: "type" },
      defaultSort: "-createdAt",
      refreshMs: 5_000,
      columns: [
        {
          key: "createdAt",
          title: t("webhooks.deliveries.columns.time"),
          sortBy: "createdAt",
          cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
        },
        { key: "type", title: t("webhooks.deliveries.columns.event"), isBelow: true, cell: about },
        {
          key: "status",
          title: t("webhooks.state.label"),
          cell: ({ status }) => <Status tone={states[status].tone}>{states[status].text}</Status>,
        },
        {
          key: "attempts",
          title: t("webhooks.deliveries.attempts"),
          isBelow: true,
          cell: (delivery) => <Attempts delivery={delivery} />,
        },
        ...(canWrite
          ? [
              {
                key: "redeliver",
                title: t("webhooks.deliveries.columns.action"),
                isBelow: true as const,
                isAction: true as const,
                cell: ({ id }: Delivery) => <Redeliver webhookId={webhookId} id={id} />,
              },
            ]
          : []),
      ],
      filters: [
        {
          field: "status",
          title: t("webhooks.state.label"),
          options: Object.entries(states).map(([value, { text }]) => ({ value, label: text })),
        },
      ],
      empty: {
        title: t("webhooks.deliveries.empty.title"),
        ...(isActive
          ? {
              text: t("webhooks.deliveries.empty.text"),
              action: { label: t("webhooks.deliveries.showEvents"), to: "/events", permission: "events:read" as const },
            }
          : {
              text: t("webhooks.deliveries.empty.inactive"),
            }),
        guide: "webhooks#messages",
      },
    };
  }, [webhookId, isActive, canWrite, canReadEvents]);
  return (
    <Panel title={t("webhooks.deliveries.title")}>
      <RecordList label={t("webhooks.deliveries.list")} definition={definition} />
    </Panel>
  );
}

function Attempts({ delivery: { attempts, nextAttemptAt } }: { readonly delivery: Delivery }) {
  const last = attempts.at(-1);
  return (
    <Stack gap={2}>
      <Text size="sm">
        {last === undefined ? (
          t("webhooks.deliveries.attemptsCount", { count: attempts.length })
        ) : (
          <RichText
            message="webhooks.deliveries.attemptsLast"
            values={{
              count: attempts.length,
              result: last.error ?? String(last.statusCode),
              duration: last.durationMs,
            }}
            elements={{ code: <Code /> }}
          />
        )}
      </Text>
      {nextAttemptAt !== null && (
        <Text size="sm" c="dimmed">
          {t("webhooks.deliveries.nextAttempt")} <RelativeTime at={nextAttemptAt} />
        </Text>
      )}
    </Stack>
  );
}

function Redeliver({ webhookId, id }: { readonly webhookId: string; readonly id: string }) {
  const redelivery = useAction({
    run: () =>
      api.post("/tenants/webhooks/{id}/deliveries/{deliveryId}/redeliver", {
        path: { id: webhookId, deliveryId: id },
      }),
    done: t("webhooks.deliveries.redelivered"),
  });
  return (
    <Button size="xs" variant="default" loading={redelivery.isPending} onClick={() => redelivery.mutate()}>
      {t("webhooks.deliveries.redeliver")}
    </Button>
  );
}
