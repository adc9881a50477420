import { Code, Group, Skeleton, Stack, Table, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { Facts, Panel } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { Status } from "../../records/status.tsx";
import { type AccessSearch, circumstancesOf, destinationOf } from "./access-search.ts";
import {
  type Condition,
  type Considered,
  type Decision,
  formatMatches,
  formatMissing,
  formatOutcome,
  formatReason,
  formatValues,
} from "./format-access.ts";

/** The decision, every policy that was considered, and what was missing. */
export function DecisionAnswer({ asked }: { readonly asked: AccessSearch }) {
  const { user, device, byAddress } = asked;
  const body = {
    subject: user === "" ? { type: "device", id: device } : { type: "user", id: user },
    action: { name: "connect" },
    resource: destinationOf(asked),
    context: {
      explain: true,
      ...(user === "" || device === "" ? {} : { deviceId: device }),
      ...circumstancesOf(asked),
    },
  };
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: ["/access/v1/evaluation", body],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => api.post("/access/v1/evaluation", { signal, body }),
  });
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={200} aria-busy />;
  return (
    <Stack aria-busy={isPlaceholderData} style={{ opacity: isPlaceholderData ? 0.6 : 1 }}>
      <Verdict decision={data} byAddress={byAddress} />
      <Policies decision={data} />
    </Stack>
  );
}

interface VerdictProps {
  readonly decision: Decision;
  readonly byAddress: boolean;
}

function Verdict({ decision: { decision, context }, byAddress }: VerdictProps) {
  const { reason, reasons, policy, resource, gateways, validUntil, explanation } = context;
  const miss = explanation?.nearestMiss;
  return (
    <Panel title="Decision">
      <Stack gap="sm">
        <Group gap="md">
          <Text fw={700} size="lg" component="div">
            <Status tone={decision ? "good" : "bad"}>{decision ? "Allowed" : "Denied"}</Status>
          </Text>
          <Text>{[...new Set([reason, ...reasons])].map(formatReason).join(" ")}</Text>
        </Group>
        <Facts
          facts={[
            ...(policy === undefined
              ? []
              : [{ label: "By policy", value: <RecordLink to={`/policies/${policy.id}`}>{policy.name}</RecordLink> }]),
            ...(byAddress && resource !== undefined
              ? [
                  {
                    label: "Belongs to",
                    value: <RecordLink to={`/resources/${resource.id}`}>{resource.name}</RecordLink>,
                  },
                ]
              : []),
            ...(gateways === undefined || !decision
              ? []
              : [
                  { label: "Through", value: <RecordLinks path="gateways" records={gateways} none="No gateway now" /> },
                ]),
            ...(validUntil === undefined ? [] : [{ label: "Until", value: <RelativeTime at={validUntil} /> }]),
          ]}
        />
        {miss !== undefined && (
          <section aria-label="What is missing">
            <Text fw={600}>
              {miss.policy === undefined
                ? "It would take this:"
                : `It would take this for policy ${miss.policy.name} to allow it:`}
            </Text>
            <ul style={{ margin: "4px 0 0", paddingInlineStart: 20 }}>
              {miss.missing.map((fact) => (
                <li key={formatMissing(fact)}>{formatMissing(fact)}</li>
              ))}
            </ul>
          </section>
        )}
      </Stack>
    </Panel>
  );
}

function Policies({ decision }: { readonly decision: Decision }) {
  const explanation = decision.context.explanation;
  if (explanation === undefined) return null;
  const { policies, otherPolicies } = explanation;
  return (
    <Panel title="Policies that were considered">
      {policies.length === 0 ? (
        <Text c="dimmed">No policy is about this destination.</Text>
      ) : (
        <Table.ScrollContainer
          minWidth={0}
          type="native"
          scrollAreaProps={{ tabIndex: 0, role: "region", "aria-label": "Considered policies" }}
        >
          <Table className="record-table" verticalSpacing="sm">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Policy</Table.Th>
                <Table.Th>Says</Table.Th>
                <Table.Th>What became of it</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {policies.map((considered) => (
                <Table.Tr key={considered.policy.id} aria-current={considered.outcome === "decided"}>
                  <Table.Td>
                    <RecordLink to={`/policies/${considered.policy.id}`}>{considered.policy.name}</RecordLink>
                  </Table.Td>
                  <Table.Td>
                    <Status tone={considered.action ? "good" : "bad"}>{considered.action ? "Allow" : "Deny"}</Status>
                  </Table.Td>
                  <Table.Td>
                    <Outcome considered={considered} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {otherPolicies > 0 && (
        <Text size="sm" c="dimmed" mt="sm">
          {otherPolicies} more of the type are about other destinations.
        </Text>
      )}
    </Panel>
  );
}

function Outcome({ considered: { outcome, sourceMatches, rule } }: { readonly considered: Considered }) {
  // The rule that always holds has nothing to tell.
  const conditions = (rule?.conditions ?? []).filter(({ text }) => text !== "true");
  return (
    <Stack gap={4}>
      <Text fw={outcome === "decided" ? 600 : 400}>{formatOutcome(outcome)}</Text>
      {sourceMatches.length > 0 && (
        <Text size="sm" c="dimmed">
          Meant by: {formatMatches(sourceMatches)}
        </Text>
      )}
      {rule !== undefined && conditions.length > 0 && (
        <ul className="conditions" aria-label={`Conditions of ${rule.name}`}>
          {conditions.map((condition, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: conditions may be alike, and stay in their order
            <li key={index} style={{ marginInlineStart: condition.depth * 16 }}>
              <ConditionLine condition={condition} />
            </li>
          ))}
        </ul>
      )}
    </Stack>
  );
}

function ConditionLine({ condition }: { readonly condition: Condition }) {
  const { text, met, error, operator } = condition;
  const words = { all: "All of these", any: "One of these", not: "Not this" } as const;
  return (
    <Group gap={6} wrap="nowrap" align="baseline">
      <Status tone={met === undefined ? "waiting" : met ? "good" : "bad"}>
        {met === undefined ? "Not known" : met ? "Met" : "Not met"}
      </Status>
      <span>
        {operator === undefined ? <Code>{text}</Code> : words[operator]}
        {operator === undefined && formatValues(condition)}
        {error !== undefined &&
          condition.values.every((value) => value.error === undefined) &&
          operator === undefined &&
          ` ${error}`}
      </span>
    </Group>
  );
}
