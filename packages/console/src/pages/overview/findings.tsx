/** Resources that nobody reaches, and policies that never decide: each with why, and leading to where it is mended. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";
import { RecordLink } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { Status } from "../../records/status.tsx";
import { More, QueryPanel } from "./query-panel.tsx";

type Findings = ResultOf<"/tenants/access/findings", "get">;
type Resource = Findings["unreachableResources"]["first"][number];
type Policy = Findings["neverMatchingPolicies"]["first"][number];

const mostShown = 6;
/** All policies are looked at: not as often as what costs little. */
const refreshMs = 60_000;

function useFindings() {
  return useQuery({
    queryKey: ["/tenants/access/findings"],
    queryFn: ({ signal }) => api.get("/tenants/access/findings", { signal }),
    refetchInterval: refreshMs,
  });
}

export function UnreachableResources() {
  return (
    <Panel title="Resources nobody can reach" actions={<More to="/resources">All resources</More>}>
      <QueryPanel query={useFindings()}>
        {({ unreachableResources: { first, count, lookedAt, total } }) => (
          <Stack gap="xs">
            <Status tone={count > 0 ? "bad" : "good"}>
              {count > 0 ? `${count} of ${lookedAt}` : lookedAt === 0 ? "No resources yet" : `None of ${lookedAt}`}
            </Status>
            {first.slice(0, mostShown).map(({ id, name, reason }) => (
              <div key={id}>
                <RecordLink to={`/resources/${id}`} inText>
                  {name}
                </RecordLink>
                : {unreachable[reason]}
              </div>
            ))}
            <Rest count={count - Math.min(first.length, mostShown)} lookedAt={lookedAt} total={total} />
          </Stack>
        )}
      </QueryPanel>
    </Panel>
  );
}

const unreachable: Readonly<Record<Resource["reason"], string>> = {
  no_addresses: "it has no address with a protocol",
  no_gateways: "it has no gateway",
  gateways_offline: "none of its gateways is online",
  no_policies: "no policy allows it",
  policies_let_nobody_in: "its policies let nobody in",
};

export function NeverMatchingPolicies() {
  return (
    <Panel title="Policies that never match" actions={<More to="/policies">All policies</More>}>
      <QueryPanel query={useFindings()}>
        {({ neverMatchingPolicies: { first, count, lookedAt, total } }) => (
          <Stack gap="xs">
            <Status tone={count > 0 ? "waiting" : "good"}>
              {count > 0
                ? `${count} of ${lookedAt}`
                : lookedAt === 0
                  ? "No active policies yet"
                  : `None of ${lookedAt}`}
            </Status>
            {first.slice(0, mostShown).map((policy) => (
              <div key={policy.id}>
                <RecordLink to={`/policies/${policy.id}`} inText>
                  {policy.name}
                </RecordLink>
                : <Why policy={policy} />
              </div>
            ))}
            <Rest count={count - Math.min(first.length, mostShown)} lookedAt={lookedAt} total={total} />
          </Stack>
        )}
      </QueryPanel>
    </Panel>
  );
}

const idle: Readonly<Record<Policy["reason"], string>> = {
  no_sources: "it names nobody",
  sources_cannot_ask: "nobody it names is active",
  no_resources: "it is about no resource",
  rule_never_met: "its rule is never met",
  no_gateways: "its gateways serve none of its resources",
  hidden: "an earlier one decides all of it",
};

function Why({ policy: { reason, hiddenBy } }: { readonly policy: Policy }) {
  if (hiddenBy === undefined) return idle[reason];
  return (
    <>
      <RecordLink to={`/policies/${hiddenBy.id}`} inText>
        {hiddenBy.name}
      </RecordLink>{" "}
      comes first, and decides all of it
    </>
  );
}

interface RestProps {
  readonly count: number;
  readonly lookedAt: number;
  readonly total: number;
}

function Rest({ count, lookedAt, total }: RestProps) {
  return (
    <>
      {count > 0 && <Text c="dimmed">and {count} more</Text>}
      {lookedAt < total && (
        <Text c="dimmed" size="sm">
          {lookedAt} of {total} were looked at.
        </Text>
      )}
    </>
  );
}
