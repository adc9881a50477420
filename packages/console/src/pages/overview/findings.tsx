/** Unreachable resources and unused policies, each with the reason and a link to its page. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Stack, Text } from "@mantine/core";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { Status } from "../../records/status.tsx";
import { useFindings, useGateways } from "./overview-queries.ts";
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
            {first.slice(0, mostShown).map((resource) => (
              <div key={resource.id}>
                <UnreachableResource resource={resource} />
              </div>
            ))}
            <Rest count={count - Math.min(first.length, mostShown)} examined={examined} total={total} />
          </Stack>
        )}
      </QueryPanel>
    </Panel>
  );
}

/** A resource is reported with its first defect. A gateway that was never deployed would be the next one. */
function UnreachableResource({ resource: { id, name, reason } }: { readonly resource: Resource }) {
  const { data: gateways = [] } = useGateways();
  const own = gateways.filter(({ resources = [] }) => resources.some((resource) => resource.id === id));
  const isDeployed = own.length === 0 || own.some(({ status }) => status !== "PENDING");
  const words = t(`overview.findings.resources.${reason}`);
  return (
    <>
      <RecordLink to={`/resources/${id}`} inText>
        {name}
      </RecordLink>
      {": "}
      {isDeployed ? (
        words
      ) : (
        <RichText
          message={
            reason === "gateways_offline"
              ? "overview.findings.resources.onlyNotDeployed"
              : "overview.findings.resources.notDeployed"
          }
          values={{ reason: words, count: own.length }}
          elements={{ gateways: <RecordLinks path="gateways" records={own} /> }}
        />
      )}
    </>
  );
}

/** Stored addresses in closed blocks. Few tenants have any, so the panel is hidden without them. */
export function ClosedAddresses() {
  const { data } = useFindings();
  if (data === undefined || data.closedAddresses.count === 0) return null;
  const { first, count, lookedAt: examined, total } = data.closedAddresses;
  return (
    <Panel title={t("overview.findings.closed.title")}>
      <Stack gap="xs">
        <Status tone="bad">{formatCount("closed", count, examined)}</Status>
        <Text c="dimmed">{t("overview.findings.closed.text")}</Text>
        {first.slice(0, mostShown).map(({ resource, address, block }) => (
          <div key={`${resource.id} ${address}`}>
            <RichText
              message="overview.findings.closed.address"
              values={{ name: resource.name, address, block }}
              elements={{ record: <RecordLink to={`/resources/${resource.id}`} inText /> }}
            />
          </div>
        ))}
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
            {first.slice(0, mostShown).map((policy) => (
              <div key={policy.id}>
                <UnusedPolicy policy={policy} />
              </div>
            ))}
            <Rest count={count - Math.min(first.length, mostShown)} examined={examined} total={total} />
          </Stack>
        )}
      </QueryPanel>
    </Panel>
  );
}

function UnusedPolicy({ policy: { id, name, reason, hiddenBy } }: { readonly policy: Policy }) {
  const link = <RecordLink to={`/policies/${id}`} inText />;
  if (hiddenBy === undefined) {
    return (
      <RichText
        message="overview.findings.reason"
        values={{ name, reason: t(`overview.findings.policies.${reason}`) }}
        elements={{ record: link }}
      />
    );
  }
  return (
    <RichText
      message="overview.findings.policies.hiddenBy"
      values={{ name, other: hiddenBy.name }}
      elements={{ hidden: link, by: <RecordLink to={`/policies/${hiddenBy.id}`} inText /> }}
    />
  );
}

function formatCount(kind: "resources" | "policies" | "closed", count: number, examined: number): string {
  return count > 0
    ? t(`overview.findings.${kind}.count`, { count: examined, found: count })
    : t(`overview.findings.${kind}.none`, { count: examined });
}

interface RestProps {
  readonly count: number;
  readonly examined: number;
  readonly total: number;
}

function Rest({ count, examined, total }: RestProps) {
  return (
    <>
      {count > 0 && <Text c="dimmed">{t("common.andMore", { count })}</Text>}
      {examined < total && (
        <Text c="dimmed" size="sm">
          {t("overview.findings.examined", { examined, total })}
        </Text>
      )}
    </>
  );
}
