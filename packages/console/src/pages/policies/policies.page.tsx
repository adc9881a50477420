import { Button, Group, Paper, SegmentedControl, Skeleton, Stack, Text, TextInput, Title } from "@mantine/core";
import { skipToken, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useEffect } from "react";
import { api, type PageOf, paged } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { bodyOf, newPolicy, policyFields } from "./policy-fields.tsx";
import { PolicyOrder } from "./policy-order.tsx";
import { type Policy, type PolicyType, policyTypes } from "./say-policy.ts";

const source = paged("/tenants/policies");
const pageLimit = 100;

const readPage = (type: PolicyType, offset: number, signal: AbortSignal) =>
  source.read({ "filter[type]": type, sort: "order", limit: pageLimit, offset }, signal);

/** All policies of a type: their order is one, and is stored as one. @param first their first page */
async function readAll(type: PolicyType, first: PageOf<Policy>, signal: AbortSignal): Promise<readonly Policy[]> {
  const offsets = Array.from({ length: Math.ceil(first.total / pageLimit) }, (_, page) => page * pageLimit).slice(1);
  const found = [...first.data];
  for (let done = 0; done < offsets.length; done += 4) {
    const pages = await Promise.all(offsets.slice(done, done + 4).map((offset) => readPage(type, offset, signal)));
    found.push(...pages.flatMap(({ data }) => data));
  }
  // A policy that moved meanwhile may stand on two pages.
  return [...new Map(found.map((policy) => [policy.id, policy])).values()];
}

/** The first page is shown at once; moving begins when all are there. */
function usePolicies(type: PolicyType) {
  const queryClient = useQueryClient();
  const firstKey = [source.path, "order", type, "first page"];
  const {
    data: all,
    error,
    refetch,
  } = useQuery({
    queryKey: [source.path, "order", type],
    queryFn: async ({ signal }) => {
      const first = await readPage(type, 0, signal);
      queryClient.setQueryData(firstKey, first);
      return readAll(type, first, signal);
    },
  });
  const { data: first } = useQuery<PageOf<Policy>>({ queryKey: firstKey, queryFn: skipToken });
  return {
    policies: all ?? first?.data,
    total: all?.length ?? first?.total,
    isWhole: all !== undefined,
    error,
    refetch,
  };
}

export function PoliciesListPage() {
  const search = useSearch({ strict: false }) as Readonly<Record<string, string>>; // the router reads texts
  const navigate = useNavigate();
  const type = policyTypes.find(({ value }) => value === search.type) ?? policyTypes[0];
  const value: PolicyType = type?.value ?? "PRIVATE";
  const text = search.q ?? "";
  const change = (next: Record<string, string | undefined>, replace = false) =>
    void navigate({ to: ".", search: { ...search, ...next }, replace, resetScroll: false });
  const { policies: data, total, isWhole, error, refetch } = usePolicies(value);
  useEffect(() => {
    document.title = "Policies · Gatehouse";
  }, []);
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1}>Policies</Title>
        <NewButton
          label="Create a policy"
          permission="policies:write"
          dialog={(close) => (
            <RecordForm
              title={`Create a policy: ${type?.label.toLowerCase()}`}
              fields={policyFields(value)}
              initial={newPolicy}
              submitLabel="Create"
              review={(values) => ({
                method: "POST",
                path: "/tenants/policies",
                body: { ...bodyOf(value, values), type: value },
              })}
              submit={async (values, _etag, overrideReason) => {
                const { id } = await api.post("/tenants/policies", {
                  body: { ...bodyOf(value, values), type: value },
                  ...(overrideReason === undefined ? {} : { overrideReason }),
                });
                void navigate({ to: `/policies/${id}` });
              }}
              close={close}
            />
          )}
        />
      </Group>
      <Group justify="space-between">
        <SegmentedControl
          aria-label="Access type"
          value={value}
          onChange={(next) => change({ type: next, q: undefined })}
          data={policyTypes.map(({ value: each, label }) => ({ value: each, label }))}
        />
        <TextInput
          type="search"
          aria-label="Search by name"
          placeholder="Name"
          leftSection={<Search size={16} aria-hidden />}
          value={text}
          onChange={({ currentTarget }) => change({ q: currentTarget.value }, true)}
          w={{ base: "100%", xs: 240 }}
        />
      </Group>
      <Text c="dimmed" size="sm">
        The first policy that fits decides; what stands after it is not asked.
      </Text>
      {error !== null ? (
        <ProblemNotice error={error} retry={refetch} />
      ) : data === undefined ? (
        <Stack aria-busy gap="xs">
          {[1, 2, 3, 4, 5].map((line) => (
            <Skeleton key={line} height={48} />
          ))}
        </Stack>
      ) : data.length === 0 ? (
        <Paper withBorder p="xl">
          <Stack align="center" gap="xs">
            <Text fw={600}>No policies yet</Text>
            <Text c="dimmed">{type?.empty}</Text>
          </Stack>
        </Paper>
      ) : (
        <>
          {!isWhole && (
            <Text size="sm" role="status" aria-busy>
              The first {data.length} of {total}; the others are on their way.
            </Text>
          )}
          <PolicyOrder
            key={`${value} ${data.map(({ id }) => id).join()}`}
            type={value}
            policies={data}
            text={text}
            isWhole={isWhole}
          />
        </>
      )}
      {text !== "" && (
        <Group>
          <Button variant="default" size="xs" onClick={() => change({ q: undefined })}>
            Show all policies
          </Button>
        </Group>
      )}
    </Stack>
  );
}
