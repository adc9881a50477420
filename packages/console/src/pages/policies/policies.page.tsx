import { Button, Group, Paper, SegmentedControl, Skeleton, Stack, Text, TextInput, Title } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useEffect } from "react";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePolicies } from "../../records/all-policies.ts";
import { NewButton } from "../../records/new-button.tsx";
import { idIn, RecordForm } from "../../records/record-form.tsx";
import { type PolicyType, policyTypes } from "./format-policy.ts";
import { bodyOf, newPolicy, policyFields } from "./policy-fields.tsx";
import { PolicyOrder } from "./policy-order.tsx";

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
              plan={(values) => [
                { method: "POST", path: "/tenants/policies", body: { ...bodyOf(value, values), type: value } },
              ]}
              saved={(answer) => void navigate({ to: `/policies/${idIn(answer)}` })}
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
          <PolicyOrder key={value} type={value} policies={data} text={text} isWhole={isWhole} reload={refetch} />
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
