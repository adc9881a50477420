/** Unreachable resources and unused policies, each with the reason and a link to its page. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { unreachablePath, useFindings } from "../../records/access-findings.ts";
import { formatUnreachable } from "../../records/format-unreachable.ts";
import { RecordLink } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { Status } from "../../records/status.tsx";
import { useGateways } from "./overview-queries.ts";
import { More, QueryPanel } from "./query-panel.tsx";

type Findings = ResultOf<"/tenants/access/findings", "get">;
type Resource = Findings["unreachableResources"]["first"][number];
type Policy = Findings["neverMatchingPolicies"]["first"][number];

const mostShown = 6;

export function UnreachableResources() {
  return (
    <Panel
      title={t("overview.findings.resources.title")}
      actions={<More to="/resources">{t("overview.findings.resources.all")}</More>}
    >
      <QueryPanel query={useFindings()}>
        {({ unreachableResources: { first, count, lookedAt: examined, total } }) => (
          <Stack gap="xs">
            <Status tone={count > 0 ? "bad" : examined === 0 ? "idle" : "good"}>
              {count === 0 && examined === 0
                ? t("overview.findings.resources.empty")
                : formatCount("resources", count, examined)}
            </Status>
            <ul className="findings">
              {first.slice(0, mostShown).map((resource) => (
                <UnreachableResource key={resource.id} resource={resource} />
              ))}
            </ul>
            <Rest
              count={count - Math.min(first.length, mostShown)}
              to={unreachablePath}
              examined={examined}
              total={total}
            />
          </Stack>
        )}
      </QueryPanel>
    </Panel>
  );
}

function UnreachableResource({ resource: { id, name, reason } }: { readonly resource: Resource }) {
  const { data: gateways = [] } = useGateways();
  const own = gateways.filter(({ resources = [] }) => resources.some((resource) => resource.id === id));
  return (
    <Finding to={`/resources/${id}`} name={name}>
      {formatUnreachable(reason, own)}
    </Finding>
  );
}

/** Stored addresses in blocked ranges. Few tenants have any, so the panel is hidden without them. */
export function ClosedAddresses() {
  const { data } = useFindings();
  if (data === undefined || data.closedAddresses.count === 0) return null;
  const { first, count, lookedAt: examined, total } = data.closedAddresses;
  return (
    <Panel title={t("overview.findings.closed.title")}>
      <Stack gap="xs">
        <Status tone="bad">{formatCount("closed", count, examined)}</Status>
        <Text c="dimmed">{t("overview.findings.closed.text")}</Text>
        <ul className="findings">
          {first.slice(0, mostShown).map(({ resource, address, block }) => (
            <Finding key={`${resource.id} ${address}`} to={`/resources/${resource.id}`} name={resource.name}>
              {t("overview.findings.closed.address", { address, block })}
            </Finding>
          ))}
        </ul>
        <Rest count={count - Math.min(first.length, mostShown)} examined={examined} total={total} />
      </Stack>
    </Panel>
  );
}

/** Shared addresses without a common gateway. Few tenants have any, so the panel is hidden without them. */
export function DivertedAddresses() {
  const { data } = useFindings();
  if (data === undefined || data.divertedAddresses.count === 0) return null;
  const { first, count, lookedAt: examined, total } = data.divertedAddresses;
  return (
    <Panel title={t("overview.findings.diverted.title")}>
      <Stack gap="xs">
        <Status tone="bad">{formatCount("diverted", count, examined)}</Status>
        <Text c="dimmed">{t("overview.findings.diverted.text")}</Text>
        <ul className="findings">
          {first.slice(0, mostShown).map(({ resource, address, routedFor }) => (
            <Finding key={`${resource.id} ${address}`} to={`/resources/${resource.id}`} name={resource.name}>
              {t("overview.findings.diverted.address", { address, other: routedFor.name })}
            </Finding>
          ))}
        </ul>
        <Rest count={count - Math.min(first.length, mostShown)} examined={examined} total={total} />
      </Stack>
    </Panel>
  );
}

export function NeverMatchingPolicies() {
  return (
    <Panel
      title={t("overview.findings.policies.title")}
      actions={<More to="/policies">{t("overview.findings.policies.all")}</More>}
    >
      <QueryPanel query={useFindings()}>
        {({ neverMatchingPolicies: { first, count, lookedAt: examined, total } }) => (
          <Stack gap="xs">
            <Status tone={count > 0 ? "waiting" : examined === 0 ? "idle" : "good"}>
              {count === 0 && examined === 0
                ? t("overview.findings.policies.empty")
                : formatCount("policies", count, examined)}
            </Status>
            <ul className="findings">
              {first.slice(0, mostShown).map((policy) => (
                <UnusedPolicy key={policy.id} policy={policy} />
              ))}
            </ul>
            <Rest count={count - Math.min(first.length, mostShown)} examined={examined} total={total} />
          </Stack>
        )}
      </QueryPanel>
    </Panel>
  );
}

function UnusedPolicy({ policy: { id, name, reason, hiddenBy } }: { readonly policy: Policy }) {
  return (
    <Finding to={`/policies/${id}`} name={name}>
      {hiddenBy === undefined ? (
        t(`overview.findings.policies.${reason}`)
      ) : (
        <RichText
          message="overview.findings.policies.hiddenBy"
          values={{ other: hiddenBy.name }}
          elements={{ by: <RecordLink to={`/policies/${hiddenBy.id}`} inText /> }}
        />
      )}
    </Finding>
  );
}

interface FindingProps {
  readonly to: string;
  readonly name: string;
  readonly children: ReactNode;
}

/** A record, and what is wrong with it. */
export function Finding({ to, name, children }: FindingProps) {
  return (
    <li>
      <RecordLink to={to}>{name}</RecordLink>
      <span>{children}</span>
    </li>
  );
}

function formatCount(kind: "resources" | "policies" | "closed" | "diverted", count: number, examined: number): string {
  return count > 0
    ? t(`overview.findings.${kind}.count`, { count: examined, found: count })
    : t(`overview.findings.${kind}.none`, { count: examined });
}

interface RestProps {
  readonly count: number;
  /** The list of all of them; absent if there is none. */
  readonly to?: string;
  readonly examined: number;
  readonly total: number;
}

function Rest({ count, to, examined, total }: RestProps) {
  return (
    <>
      {count > 0 && (
        <Text c="dimmed">
          {to === undefined ? (
            t("common.andMore", { count })
          ) : (
            <RecordLink to={to}>{t("common.andMore", { count })}</RecordLink>
          )}
        </Text>
      )}
      {examined < total && (
        <Text c="dimmed" size="sm">
          {t("overview.findings.examined", { examined, total })}
        </Text>
      )}
    </>
  );
}
