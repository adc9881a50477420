/** How the network stands, each line leading to where it can be mended. */
import { Anchor, SimpleGrid, Skeleton, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import { api, paged, whole } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { useMay } from "../../app/session.ts";
import { Moment } from "../../records/moment.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { Status, StatusOf } from "../../records/status.tsx";
import { sayOperation } from "../events/say-operation.ts";

const gateways = whole("/tenants/gateways");
const devices = paged("/tenants/devices");
const events = paged("/tenants/events");
const refreshMs = 15_000;

export function OverviewPage() {
  useEffect(() => {
    document.title = "Overview · Gatehouse";
  }, []);
  const [mayGateways, mayDevices, mayEvents] = [useMay("gateways:read"), useMay("devices:read"), useMay("events:read")];
  const [mayTests, mayDecide] = [useMay("access-tests:read"), useMay("decisions:read")];
  const none = !(mayGateways || mayDevices || mayEvents || (mayTests && mayDecide));
  return (
    <Stack>
      <Title order={1}>Overview</Title>
      {none && <Text>Your key may read none of what is shown here. The navigation has what it may.</Text>}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        {mayGateways && <Gateways />}
        {mayTests && mayDecide && <AccessTests />}
        {mayEvents && <LastChanges />}
        {mayDevices && <Devices />}
      </SimpleGrid>
    </Stack>
  );
}

interface AnsweredProps<T> {
  readonly query: { readonly data: T | undefined; readonly error: Error | null; readonly refetch: () => unknown };
  readonly children: (data: T) => ReactNode;
}

function Answered<T>({ query: { data, error, refetch }, children }: AnsweredProps<T>) {
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (data === undefined) {
    return (
      <Stack gap="xs" aria-busy>
        <Skeleton height={14} width="60%" />
        <Skeleton height={14} width="40%" />
      </Stack>
    );
  }
  return children(data);
}

function More({ to, children }: { readonly to: string; readonly children: string }) {
  return (
    <Anchor component={Link} to={to} size="sm">
      {children}
    </Anchor>
  );
}

/** Those that want somebody's attention come first. */
const states = ["ERROR", "OFFLINE", "PENDING", "MAINTENANCE", "ONLINE"] as const;

function Gateways() {
  const query = useQuery({
    queryKey: [gateways.path, "list", undefined],
    queryFn: ({ signal }) => gateways.read(signal),
    refetchInterval: refreshMs,
  });
  return (
    <Panel title="Gateways" actions={<More to="/gateways">All gateways</More>}>
      <Answered query={query}>
        {(all) =>
          all.length === 0 ? (
            <Text>
              None yet.{" "}
              <RecordLink to="/gateways?new=1" inText>
                Create the first one
              </RecordLink>
              : traffic enters the network there.
            </Text>
          ) : (
            <Table className="record-table" aria-label="Gateways by status">
              <Table.Tbody>
                {states.flatMap((state) => {
                  const those = all.filter(({ status }) => status === state);
                  if (those.length === 0) return [];
                  const named = state === "ONLINE" ? those.slice(0, 5) : those.slice(0, 10);
                  return [
                    <Table.Tr key={state}>
                      <Table.Td w={60}>
                        <Text fw={700}>{those.length}</Text>
                      </Table.Td>
                      <Table.Td w={140}>
                        <StatusOf value={state} />
                      </Table.Td>
                      <Table.Td>
                        {named.map(({ id, name }, index) => (
                          <span key={id}>
                            {index > 0 && ", "}
                            <RecordLink to={`/gateways/${id}`}>{name}</RecordLink>
                          </span>
                        ))}
                        {those.length > named.length && ` and ${those.length - named.length} more`}
                      </Table.Td>
                    </Table.Tr>,
                  ];
                })}
              </Table.Tbody>
            </Table>
          )
        }
      </Answered>
    </Panel>
  );
}

function AccessTests() {
  const query = useQuery({
    queryKey: ["/tenants/access-tests/check"],
    queryFn: ({ signal }) => api.post("/tenants/access-tests/check", { body: {}, signal }),
  });
  return (
    <Panel title="Access tests" actions={<More to="/access-tests">All access tests</More>}>
      <Answered query={query}>
        {({ tests, summary }) => {
          const wrong = tests.filter(({ state }) => !state.holds);
          if (tests.length === 0) {
            return (
              <Text>
                None yet.{" "}
                <RecordLink to="/access-tests?new=1" inText>
                  Write down what has to stay so
                </RecordLink>
                , such as that contractors never reach Payroll.
              </Text>
            );
          }
          return (
            <Stack gap="xs">
              <Status mood={summary.broken > 0 ? "bad" : "good"}>
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
      </Answered>
    </Panel>
  );
}

function LastChanges() {
  const query = useQuery({
    queryKey: [events.path, "last"],
    queryFn: ({ signal }) => events.read({ sort: "-position", limit: 8 }, signal),
    refetchInterval: refreshMs,
  });
  return (
    <Panel title="What changed last" actions={<More to="/events">All events</More>}>
      <Answered query={query}>
        {({ data }) => (
          <Table className="record-table" aria-label="Last changes">
            <Table.Tbody>
              {data.map(({ id, operation, target, actor, createdAt }) => (
                <Table.Tr key={id}>
                  <Table.Td>
                    <RecordLink to={`/events/${id}`}>
                      {sayOperation(operation)}
                      {target.name !== undefined && `: ${target.name}`}
                    </RecordLink>
                  </Table.Td>
                  <Table.Td visibleFrom="lg">{actor.name}</Table.Td>
                  <Table.Td w={130}>
                    <Moment at={createdAt} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
      </Answered>
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
      <Answered query={query}>
        {({ data, total }) => {
          const online = data.filter(({ status }) => status === "Online");
          // Of a page that is online as a whole, there may be more.
          const count = online.length === mostDevices ? `${mostDevices} or more` : String(online.length);
          return (
            <Stack gap="xs">
              <Status mood={online.length > 0 ? "good" : "idle"}>{`${count} of ${total} online`}</Status>
              {online.slice(0, 5).map(({ id, name, lastConnection }) => (
                <div key={id}>
                  <RecordLink to={`/devices/${id}`} inText>
                    {name}
                  </RecordLink>
                  , <Moment at={lastConnection} />
                </div>
              ))}
            </Stack>
          );
        }}
      </Answered>
    </Panel>
  );
}
