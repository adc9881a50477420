/** Gateways by status, and whether those that matter enforce what they should. */
import type { ItemAt } from "@gatehouse/client/calls";
import { Group, Stack, Table, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, whole } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { RecordLink } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { Status, StatusOf } from "../../records/status.tsx";
import { formatGeneration, formatLag, formatSync, type GatewaySync } from "../gateways/format-sync.ts";
import { More, QueryPanel } from "./query-panel.tsx";

type Gateway = ItemAt<"/tenants/gateways">;

const gateways = whole("/tenants/gateways");
const refreshMs = 15_000;

/** Those that want somebody's attention come first. */
const states = ["ERROR", "OFFLINE", "PENDING", "MAINTENANCE", "ONLINE"] as const;

/** Each costs a request: of many, these are asked how far they are, and the first of them shown. */
const mostAsked = 12;
const mostShown = 6;

export function GatewaysPanel() {
  const canCreate = usePermission("gateways:write");
  const query = useQuery({
    queryKey: [gateways.path, "list", undefined],
    queryFn: ({ signal }) => gateways.read(signal),
    refetchInterval: refreshMs,
  });
  return (
    <Panel title="Gateways" actions={<More to="/gateways">All gateways</More>}>
      <QueryPanel query={query}>
        {(all) =>
          all.length === 0 ? (
            <Text>
              None yet
              {canCreate && (
                <>
                  .{" "}
                  <RecordLink to="/gateways?new=1" inText>
                    Create the first one
                  </RecordLink>
                </>
              )}
              : traffic enters the network there.
            </Text>
          ) : (
            <Stack gap="sm">
              <Counts all={all} />
              <Syncs all={all} />
            </Stack>
          )
        }
      </QueryPanel>
    </Panel>
  );
}

function Counts({ all }: { readonly all: readonly Gateway[] }) {
  return (
    <Group gap="lg" component="ul" className="counts" aria-label="Gateways by status">
      {states.flatMap((state) => {
        const count = all.filter(({ status }) => status === state).length;
        if (count === 0) return [];
        return [
          <li key={state}>
            <RecordLink to={`/gateways?status=${state}`}>
              <Group gap={6} component="span" wrap="nowrap">
                <strong>{count}</strong> <StatusOf value={state} />
              </Group>
            </RecordLink>
          </li>,
        ];
      })}
    </Group>
  );
}

interface Asked {
  readonly gateway: Gateway;
  readonly sync: GatewaySync | undefined;
}

function Syncs({ all }: { readonly all: readonly Gateway[] }) {
  const place = new Map<string, number>(states.map((state, index) => [state, index]));
  const byNeed = [...all].sort((a, b) => (place.get(a.status) ?? 0) - (place.get(b.status) ?? 0));
  const asked = byNeed.slice(0, mostAsked);
  const ids = asked.map(({ id }) => id);
  const { data: syncs } = useQuery({
    queryKey: ["/tenants/gateways/{id}/sync", "of many", ids],
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
    queryFn: async ({ signal }) =>
      new Map(
        await Promise.all(
          // One that was deleted meanwhile is not told of, and not there the next time.
          ids.map(async (id) => [id, await readSync(id, signal).catch(() => undefined)] as const),
        ),
      ),
  });
  const rows = asked.map((gateway): Asked => ({ gateway, sync: syncs?.get(gateway.id) }));
  const isFine = ({ gateway, sync }: Asked) => gateway.status === "ONLINE" && sync?.state === "applied";
  const shown = [...rows.filter((row) => !isFine(row)), ...rows.filter(isFine)].slice(0, mostShown);
  return (
    <>
      <Table
        className="record-table"
        horizontalSpacing={6}
        aria-label="What gateways enforce"
        aria-busy={syncs === undefined}
      >
        <Table.Thead>
          <Table.Tr>
            <Table.Th miw={104}>Name</Table.Th>
            <Table.Th>Configuration</Table.Th>
            <Table.Th visibleFrom="sm">Holds</Table.Th>
            <Table.Th visibleFrom="sm">Wanted</Table.Th>
            <Table.Th visibleFrom="lg">Lag</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {shown.map(({ gateway, sync }) => (
            <Table.Tr key={gateway.id}>
              <Table.Td>
                <RecordLink to={`/gateways/${gateway.id}`}>{gateway.name}</RecordLink>
              </Table.Td>
              <Table.Td>
                {sync === undefined ? "…" : <Status tone={toneOf(gateway, sync)}>{wordsOf(gateway, sync)}</Status>}
              </Table.Td>
              <Table.Td visibleFrom="sm">{formatGeneration(sync?.applied ?? null)}</Table.Td>
              <Table.Td visibleFrom="sm">{formatGeneration(sync?.wanted ?? null)}</Table.Td>
              <Table.Td visibleFrom="lg" className="status">
                {sync === undefined ? "…" : formatLag(sync)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {all.length > shown.length && (
        <Text size="sm" c="dimmed">
          and {all.length - shown.length} more
        </Text>
      )}
    </>
  );
}

function readSync(id: string, signal: AbortSignal): Promise<GatewaySync> {
  return api.get("/tenants/gateways/{id}/sync", { path: { id }, signal });
}

/** One that was never deployed lacks nothing yet. */
function toneOf({ status }: Gateway, sync: GatewaySync) {
  return status === "PENDING" ? "waiting" : formatSync(sync).tone;
}

function wordsOf({ status }: Gateway, sync: GatewaySync): string {
  return status === "PENDING" ? "Not deployed yet" : formatSync(sync).text;
}
