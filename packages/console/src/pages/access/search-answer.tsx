import { Button, Group, SegmentedControl, Skeleton, Stack, Table, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { pageSize } from "../../lists/list-definition.ts";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { type AccessSearch, circumstancesOf, destinationOf, type useAccessSearch } from "./access-search.ts";

interface SearchAnswerProps {
  readonly asked: AccessSearch;
  readonly change: ReturnType<typeof useAccessSearch>["change"];
}

/** Who reaches an address, as everything is set up now; page by page, each named by a token. */
export function SearchAnswer({ asked, change }: SearchAnswerProps) {
  const { of, after } = asked;
  const body = {
    subject: { type: of === "users" ? "user" : "device" },
    action: { name: "connect" },
    resource: destinationOf(asked),
    context: circumstancesOf(asked),
    page: { limit: pageSize, ...(after === "" ? {} : { token: after }) },
  };
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: ["/access/v1/search/subject", body],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => api.post("/access/v1/search/subject", { signal, body }),
  });
  return (
    <Panel
      title="Who reaches it"
      actions={
        <SegmentedControl
          aria-label="Who is looked for"
          value={of}
          onChange={(value) => change({ of: value === "users" ? value : undefined })}
          data={[
            { value: "devices", label: "With a device" },
            { value: "users", label: "Without one" },
          ]}
        />
      }
    >
      {error !== null ? (
        <ProblemNotice error={error} retry={refetch} />
      ) : data === undefined ? (
        <Skeleton height={200} aria-busy />
      ) : data.context.found.length === 0 && after === "" ? (
        <Text>{of === "devices" ? "No device reaches it." : "Nobody reaches it without a device."}</Text>
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
                  <Table.Th>{of === "devices" ? "Device" : "User"}</Table.Th>
                  <Table.Th>By policy</Table.Th>
                  <Table.Th visibleFrom="sm">Through</Table.Th>
                  <Table.Th visibleFrom="md">Until</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {data.context.found.map(({ id, name, policy, gateways = [], validUntil }) => (
                  <Table.Tr key={id}>
                    <Table.Td>
                      <RecordLink to={`/${of}/${id}`}>{name}</RecordLink>
                    </Table.Td>
                    <Table.Td>
                      {policy !== undefined && <RecordLink to={`/policies/${policy.id}`}>{policy.name}</RecordLink>}
                    </Table.Td>
                    <Table.Td visibleFrom="sm">
                      <RecordLinks path="gateways" records={gateways} none="No gateway now" />
                    </Table.Td>
                    <Table.Td visibleFrom="md">
                      <RelativeTime at={validUntil} never="–" />
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
          <Group justify="flex-end" gap="xs">
            {after !== "" && (
              <Button variant="default" size="xs" onClick={() => change({ after: undefined }, true)}>
                First page
              </Button>
            )}
            {data.page.next_token !== "" && (
              <Button variant="default" size="xs" onClick={() => change({ after: data.page.next_token }, true)}>
                Next page
              </Button>
            )}
          </Group>
        </Stack>
      )}
    </Panel>
  );
}
