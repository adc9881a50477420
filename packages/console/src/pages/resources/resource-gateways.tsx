/** The gateways of a resource. With manual load balancing, their order is the priority. */
import { ActionIcon, Button, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { ArrowDown, ArrowUp } from "lucide-react";
import { useLayoutEffect, useRef, useState } from "react";
import { api } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { EmptyState } from "../../records/empty-list.tsx";
import { orderGateways } from "../../records/gateway-order.ts";
import { type PanelColumn, PanelTable } from "../../records/panel-table.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { dropTarget, focusGrip, Grip, OvertakenNotice, type Reorder, useReorder } from "../../records/reorder.tsx";
import { ReviewDialog } from "../../records/reviewed-change.tsx";
import { StatusOf } from "../../records/status.tsx";
import { DiscardNotice, useUnsaved } from "../../records/unsaved.tsx";
import { useAction } from "../../records/use-record.ts";
import { ConnectGateway } from "./connect-gateway.tsx";
import type { Resource } from "./resource-fields.tsx";

type Gateway = Resource["gateways"][number];

interface Balance {
  readonly loadBalancingMode: "MANUAL" | "AUTOMATIC";
  readonly gateways: readonly string[];
}

interface PendingChange {
  readonly title: string;
  readonly label: string;
  readonly gateways: readonly string[];
}

interface ResourceGatewaysProps {
  readonly resource: Resource;
  readonly etag: string;
}

export function ResourceGateways({ resource, etag }: ResourceGatewaysProps) {
  const canWrite = usePermission("resources:write");
  const canList = usePermission("gateways:read");
  const mode = resource.loadBalancingMode;
  const isByPriority = mode === "MANUAL";
  const canMove = canWrite && isByPriority;
  const { order, isChanged, lastMoved, announcement, move, dropAt, discard, isOvertaken } = useReorder(
    resource.gateways,
  );
  const unsaved = useUnsaved(isChanged);
  const ids = order.map(({ id }) => id);
  // The local order holds the statuses of an earlier response.
  const statuses = new Map(resource.gateways.map(({ id, status }) => [id, status]));
  const columns: readonly PanelColumn<Gateway>[] = [
    ...(isByPriority ? [priorityColumn(ids)] : []),
    { title: t("common.name"), cell: ({ id, name }) => <RecordLink to={`/gateways/${id}`}>{name}</RecordLink> },
    {
      title: t("common.status"),
      isBelow: true,
      cell: ({ id, status }) => <StatusOf value={statuses.get(id) ?? status} />,
    },
  ];
  const rows = useRef<HTMLTableSectionElement>(null);
  useLayoutEffect(() => {
    if (lastMoved !== undefined) focusGrip(rows.current, lastMoved.id);
  });
  const change = useAction({
    run: ({ loadBalancingMode, gateways }: Balance) =>
      api.post("/tenants/resources/{id}/loadBalancing", {
        path: { id: resource.id },
        body: { loadBalancingMode, gateways: [...gateways] },
        ifMatch: etag,
      }),
    done: t("resources.gateways.saved"),
  });
  const save = (gateways: readonly string[]) => change.mutate({ loadBalancingMode: mode, gateways });
  /**
   * A disconnected gateway can affect access, so the change is reviewed first. A change of the priority is not.
   */
  const [pending, setPending] = useState<PendingChange>();
  const [connecting, { open, close }] = useDisclosure(false);
  const add = { label: t("resources.gateways.add"), run: open, permission: "resources:write" } as const;
  const canConnect = canWrite && canList;
  return (
    <Panel
      title={t("resources.gateways.title", { count: ids.length })}
      actions={
        canConnect &&
        ids.length > 0 && (
          <Button size="xs" variant="default" onClick={open}>
            {add.label}
          </Button>
        )
      }
    >
      <Stack gap="sm">
        <Group gap="xs">
          <Text size="sm" fw={500}>
            {t("resources.gateways.balancing")}
          </Text>
          {canWrite ? (
            <SegmentedControl
              size="xs"
              aria-label={t("resources.gateways.balancing")}
              value={mode}
              onChange={(value) => change.mutate({ loadBalancingMode: value, gateways: ids })}
              data={[
                { value: "MANUAL", label: t("resources.gateways.byPriority") },
                { value: "AUTOMATIC", label: t("resources.gateways.byLoad") },
              ]}
            />
          ) : (
            <Text size="sm">{isByPriority ? t("resources.gateways.byPriority") : t("resources.gateways.byLoad")}</Text>
          )}
          <Text size="sm" c="dimmed">
            {t(`resources.gateways.balancingHelp.${mode}`)}
            {resource.type === "INTERNET" && ` ${t("resources.gateways.balancingHelp.INTERNET")}`}
          </Text>
        </Group>
        {isOvertaken && <OvertakenNotice />}
        {isChanged && (
          <Group justify="space-between">
            <Text fw={600} size="sm">
              {t("resources.gateways.changed")}
            </Text>
            <Group gap="xs">
              <Button size="xs" variant="default" onClick={discard}>
                {t("resources.gateways.discard")}
              </Button>
              <Button size="xs" loading={change.isPending} onClick={() => save(ids)}>
                {t("resources.gateways.save")}
              </Button>
            </Group>
          </Group>
        )}
        <DiscardNotice unsaved={unsaved} />
        <div aria-live="polite" className="unseen">
          {announcement}
        </div>
        {ids.length === 0 ? (
          <EmptyState
            isPart
            empty={{
              title: t("gateways.empty.title"),
              text: t("resources.gateways.empty"),
              ...(canConnect ? { action: add } : {}),
              guide: "gateway#install",
            }}
          />
        ) : (
          <PanelTable
            rows={orderGateways(order, mode)}
            columns={columns}
            order={canMove ? rowOrder({ move, dropAt }) : undefined}
            body={rows}
            actions={
              canWrite
                ? ({ id, name }) => (
                    <RowActions
                      name={name}
                      move={isByPriority ? (to) => move(id, to) : undefined}
                      isFirst={id === ids[0]}
                      isLast={id === ids.at(-1)}
                      isDisabled={change.isPending}
                      disconnect={() =>
                        setPending({
                          label: t("resources.gateways.disconnect", { name }),
                          title: t("resources.gateways.disconnectTitle", { gateway: name, resource: resource.name }),
                          gateways: ids.filter((other) => other !== id),
                        })
                      }
                    />
                  )
                : undefined
            }
          />
        )}
        {connecting && <ConnectGateway resource={resource} etag={etag} close={close} />}
        {pending !== undefined && (
          <ReviewDialog
            title={pending.title}
            changes={[
              {
                method: "POST",
                path: `/tenants/resources/${resource.id}/loadBalancing`,
                body: { loadBalancingMode: mode, gateways: pending.gateways },
              },
            ]}
            etag={etag}
            label={pending.label}
            doneMessage={t("resources.gateways.saved")}
            close={() => setPending(undefined)}
          />
        )}
      </Stack>
    </Panel>
  );
}

function priorityColumn(ids: readonly string[]): PanelColumn<Gateway> {
  return { title: t("resources.gateways.priority"), isBelow: true, cell: ({ id }) => ids.indexOf(id) + 1 };
}

function rowOrder({ move, dropAt }: Pick<Reorder<Gateway>, "move" | "dropAt">) {
  return {
    title: t("resources.gateways.order"),
    grip: ({ id, name }: Gateway) => <Grip id={id} name={name} kind="gateway" move={move} dropAt={dropAt} />,
    target: ({ id }: Gateway) => dropTarget("gateway", id, dropAt),
  };
}

interface RowActionsProps {
  readonly name: string;
  /** Undefined if the gateways have no priority. */
  readonly move: ((to: (from: number) => number) => void) | undefined;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly isDisabled: boolean;
  readonly disconnect: () => void;
}

function RowActions({ name, move, isFirst, isLast, isDisabled, disconnect }: RowActionsProps) {
  return (
    <Group gap={4} justify="flex-end" wrap="nowrap">
      {move !== undefined && (
        <>
          <ActionIcon
            variant="default"
            aria-label={t("resources.gateways.moveUp", { name })}
            disabled={isFirst}
            onClick={() => move((from) => from - 1)}
          >
            <ArrowUp size={14} aria-hidden />
          </ActionIcon>
          <ActionIcon
            variant="default"
            aria-label={t("resources.gateways.moveDown", { name })}
            disabled={isLast}
            onClick={() => move((from) => from + 1)}
          >
            <ArrowDown size={14} aria-hidden />
          </ActionIcon>
        </>
      )}
      <Button
        size="xs"
        variant="default"
        aria-label={t("resources.gateways.disconnect", { name })}
        disabled={isDisabled}
        onClick={disconnect}
      >
        {t("resources.gateways.disconnectShort")}
      </Button>
    </Group>
  );
}
