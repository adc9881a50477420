import { Group, Pagination, Skeleton, Stack, Table, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { paged } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { pageSize } from "../../lists/list-definition.ts";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import type { AccessSearch } from "./access-search.ts";

const found = paged("/tenants/access");

interface FoundAnswerProps {
  readonly asked: AccessSearch;
  readonly turnTo: (page: number) => void;
}

/** What could be reached at a moment, by whom, and by which policy. */
export function FoundAnswer({ asked, turnTo }: FoundAnswerProps) {
  const { view, user, device, resource, at, ip, country, page } = asked;
  const query = {
    ...(view !== "who" && user !== "" ? { user } : {}),
    ...(view !== "who" && device !== "" ? { device } : {}),
    ...(view !== "what" ? { resource } : {}),
    ...(at === "" ? {} : { at }),
    ...(ip === "" ? {} : { sourceIp: ip }),
    ...(country.length === 2 ? { country } : {}),
    limit: pageSize,
    offset: (page - 1) * pageSize,
  };
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: [found.path, query],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => found.read(query, signal),
  });
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={200} aria-busy />;
  const pages = Math.ceil(data.total / pageSize);
  // Of users without a device, and with one, both are told.
  const rows = data.data;
  return (
    <Panel title={data.total === 0 ? "Nothing" : `${data.total} found`}>
      {at !== "" && (
        <Text size="sm" c="dimmed" mb="sm">
          With everything as it was set up then: <RelativeTime at={at} />.
        </Text>
      )}
      {data.total === 0 ? (
        <Text>
          {view === "who" ? "Nobody reaches it." : view === "what" ? "They reach nothing." : "They did not reach it."}
        </Text>
      ) : (
        <Stack aria-busy={isPlaceholderData}>
          <Table.ScrollContainer
            minWidth={0}
            type="native"
            scrollAreaProps={{ tabIndex: 0, role: "region", "aria-label": "Found access" }}
          >
            <Table className="record-table" verticalSpacing="sm">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>User</Table.Th>
                  <Table.Th>Device</Table.Th>
                  <Table.Th>Resource</Table.Th>
                  <Table.Th>By policy</Table.Th>
                  <Table.Th visibleFrom="md">Through</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {rows.map((row) => (
                  <Table.Tr key={`${row.user.id} ${row.device?.id ?? ""} ${row.resource.id}`}>
                    <Table.Td>
                      <RecordLink to={`/users/${row.user.id}`}>{row.user.name}</RecordLink>
                    </Table.Td>
                    <Table.Td>
                      {row.device === undefined ? (
                        <Text c="dimmed">without</Text>
                      ) : (
                        <RecordLink to={`/devices/${row.device.id}`}>{row.device.name}</RecordLink>
                      )}
                    </Table.Td>
                    <Table.Td>
                      <RecordLink to={`/resources/${row.resource.id}`}>{row.resource.name}</RecordLink>
                    </Table.Td>
                    <Table.Td>
                      <RecordLink to={`/policies/${row.policy.id}`}>{row.policy.name}</RecordLink>
                    </Table.Td>
                    <Table.Td visibleFrom="md">
                      <RecordLinks path="gateways" records={row.gateways} />
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
          {pages > 1 && (
            <Group justify="flex-end">
              <Pagination
                total={pages}
                value={Math.min(page, pages)}
                onChange={turnTo}
                size="sm"
                getControlProps={(control) => ({ "aria-label": `${control} page` })}
                getItemProps={(number) => ({ "aria-label": `Page ${number}` })}
              />
            </Group>
          )}
        </Stack>
      )}
    </Panel>
  );
}
