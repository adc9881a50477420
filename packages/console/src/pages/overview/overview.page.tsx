/** How the network stands, each line leading to where it can be mended. */
import { SimpleGrid, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, paged } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { RecordLink } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { Status } from "../../records/status.tsx";
import { formatOperation } from "../events/format-operation.ts";
import { NeverMatchingPolicies, UnreachableResources } from "./findings.tsx";
import { GatewaysPanel } from "./gateways-panel.tsx";
import { More, QueryPanel } from "./query-panel.tsx";

const devices = paged("/tenants/devices");
const events = paged("/tenants/events");
const refreshMs = 15_000;

export function OverviewPage() {
  useEffect(() => {
    document.title = "Overview · Gatehouse";
  }, []);
  const [canGateways, canDevices, canEvents] = [
    usePermission("gateways:read"),
    usePermission("devices:read"),
    usePermission("events:read"),
  ];
  const [canTests, canDecide] = [usePermission("access-tests:read"), usePermission("decisions:read")];
  const none = !(canGateways || canDevices || canEvents || canDecide);
  return (
    <Stack>
      <Title order={1}>Overview</Title>
      {none && <Text>Your key may read none of what is shown here. The navigation has what it may.</Text>}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Stack>
          {canGateways && <GatewaysPanel />}
          {canEvents && <LastChanges />}
        </Stack>
        <Stack>
          {canTests && canDecide && <AccessTests />}
          {canDecide && <UnreachableResources />}
          {canDecide && <NeverMatchingPolicies />}
          {canDevices && <Devices />}
        </Stack>
      </SimpleGrid>
    </Stack>
  );
}

function AccessTests() {
  const canWrite = usePermission("access-tests:write");
  const query = useQuery({
    queryKey: ["/tenants/access-tests/check"],
    queryFn: ({ signal }) => api.post("/tenants/access-tests/check", { body: {}, signal }),
  });
  return (
    <Panel title="Access tests" actions={<More to="/access-tests">All access tests</More>}>
      <QueryPanel query={query}>
        {({ tests, summary }) => {
          const wrong = tests.filter(({ state }) => !state.holds);
          if (tests.length === 0) {
            return (
              <Text>
                None yet.{" "}
                {canWrite ? (
                  <RecordLink to="/access-tests?new=1" inText>
                    Write down what has to stay so
                  </RecordLink>
                ) : (
                  "A test says what has to stay so"
                )}
                , such as that contractors never reach Payroll.
              </Text>
            );
          }
          return (
            <Stack gap="xs">
              <Status tone={summary.broken > 0 ? "bad" : "good"}>
                {summary.broken > 0 ? `${summary.broken} of ${tests.length} broken` : `All ${summary.holding} hold`}
              </Status>
              {wrong.slice(0, 8).map(({ id, name, state }) => (
                <div key={id}>
                  <RecordLink to={`/access-tests/${id}`} inText>
                    {name}
                  </RecordLink>{" "}
                  {state.missing === undefined
                    ? `broken for ${state.brokenCount}`
                    : `asks nothing: the ${state.missing} is gone`}
                </div>
              ))}
              {wrong.length > 8 && <Text c="dimmed">and {wrong.length - 8} more</Text>}
            </Stack>
          );
        }}
      </QueryPanel>
    </Panel>
  );
}

function LastChanges() {
  const query = useQuery({
    queryKey: [events.path, "last"],
    queryFn: async ({ signal }) => {
      const { data } = await events.read({ sort: "-position", limit: 40 }, signal);
      // How gateways are stands above; their reports would soon be all that is seen here.
      return data.filter(({ operation }) => operation !== "reportGatewayState").slice(0, 8);
    },
    refetchInterval: refreshMs,
  });
  return (
    <Panel title="What changed last" actions={<More to="/events">All events</More>}>
      <QueryPanel query={query}>
        {(data) => (
          <Table className="record-table" aria-label="Last changes">
            <Table.Tbody>
              {data.map(({ id, operation, target, actor, createdAt }) => (
                <Table.Tr key={id}>
                  <Table.Td>
                    <RecordLink to={`/events/${id}`}>
                      {formatOperation(operation)}
                      {target.name !== undefined && `: ${target.name}`}
                    </RecordLink>
                  </Table.Td>
                  <Table.Td visibleFrom="lg">{actor.name}</Table.Td>
                  <Table.Td w={130}>
                    <RelativeTime at={createdAt} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
      </QueryPanel>
    </Panel>
  );
}

const mostDevices = 100;

function Devices() {
  const query = useQuery({
    queryKey: [devices.path, "seen last"],
    queryFn: ({ signal }) => devices.read({ sort: "-lastConnection", limit: mostDevices }, signal),
    refetchInterval: refreshMs,
  });
  return (
    <Panel title="Devices" actions={<More to="/devices?sort=-lastConnection">All devices</More>}>
      <QueryPanel query={query}>
        {({ data, total }) => {
          const online = data.filter(({ status }) => status === "Online");
          // Of a page that is online as a whole, there may be more.
          const count = online.length === mostDevices ? `${mostDevices} or more` : String(online.length);
          return (
            <Stack gap="xs">
              <Status tone={online.length > 0 ? "good" : "idle"}>{`${count} of ${total} online`}</Status>
              {online.slice(0, 5).map(({ id, name, lastConnection }) => (
                <div key={id}>
                  <RecordLink to={`/devices/${id}`} inText>
                    {name}
                  </RecordLink>
                  , <RelativeTime at={lastConnection} />
                </div>
              ))}
            </Stack>
          );
        }}
      </QueryPanel>
    </Panel>
  );
}
