/** The policies that name a group, or the resources behind a gateway, with what they allow. */
import type { ItemAt } from "@gatehouse/client/calls";
import { Skeleton, Table, Text } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { t } from "../messages/i18n.ts";
import { allPoliciesQuery } from "./all-policies.ts";
import { createPolicy, EmptyState } from "./empty-list.tsx";
import { formatConditions } from "./policy-conditions.ts";
import { RecordLink, RecordLinks } from "./record-link.tsx";
import { Panel } from "./record-page.tsx";
import { RelativeTime } from "./relative-time.tsx";
import { actionWidth, PolicyAction, Status } from "./status.tsx";

type Policy = ItemAt<"/tenants/policies">;

const types = ["PRIVATE", "SAAS", "INTERNET", "SITETOSITE"] as const;
/** Pixels. The columns of subjects and of resources share their space, so that usual names fit on one line. */
const nameWidth = 164;

interface PoliciesTabProps {
  readonly title: string;
  readonly empty: string;
  /** Whether the policy concerns the record. */
  readonly concerns: (policy: Policy) => boolean;
  /** A sentence about policies that the list leaves out. */
  readonly note?: ReactNode;
}

export function PoliciesTab({ title, empty, concerns, note }: PoliciesTabProps) {
  const { policies, error, refetch } = useQueries({
    queries: types.map((type) => allPoliciesQuery(type)),
    combine: (results) => ({
      policies: results.some(({ data }) => data === undefined) ? undefined : results.flatMap(({ data }) => data ?? []),
      error: results.find((result) => result.error !== null)?.error ?? null,
      refetch: () => results.map((result) => result.refetch()),
    }),
  });
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (policies === undefined) return <Skeleton height={160} aria-busy />;
  const found = policies.filter(concerns);
  return (
    <Panel title={title}>
      {found.length === 0 ? (
        <EmptyState
          isPart
          empty={{
            title: t("records.policiesTab.empty"),
            text: empty,
            action: createPolicy,
            guide: "console#policies",
          }}
        />
      ) : (
        <Table.ScrollContainer minWidth={0} type="native" tabIndex={0} role="region" aria-label={title}>
          <Table className="record-table stacks sentences">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t("access.found.columns.policy")}</Table.Th>
                <Table.Th>{t("records.policiesTab.action")}</Table.Th>
                <Table.Th>{t("records.policiesTab.subjects")}</Table.Th>
                <Table.Th>{t("access.found.columns.resources")}</Table.Th>
                <Table.Th className="one-line roomy">{t("records.policiesTab.changed")}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {found.map((policy) => (
                <Table.Tr key={policy.id}>
                  <Table.Td>
                    <RecordLink to={`/policies/${policy.id}`}>{policy.name}</RecordLink>
                  </Table.Td>
                  <Table.Td miw={actionWidth}>
                    {!policy.active ? (
                      <Status tone="idle">{t("records.status.inactive")}</Status>
                    ) : (
                      <PolicyAction allows={policy.action} conditions={formatConditions(policy)} />
                    )}
                  </Table.Td>
                  <Table.Td miw={nameWidth} data-label={t("records.policiesTab.subjects")}>
                    <Subjects policy={policy} />
                  </Table.Td>
                  <Table.Td miw={nameWidth} data-label={t("access.found.columns.resources")}>
                    {policy.allResources ? (
                      t("records.policiesTab.allResources")
                    ) : (
                      <RecordLinks path="resources" records={policy.resources} />
                    )}
                  </Table.Td>
                  <Table.Td data-label={t("records.policiesTab.changed")} className="roomy">
                    <RelativeTime at={policy.updatedAt} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {note !== undefined && (
        <Text size="sm" c="dimmed" mt="sm">
          {note}
        </Text>
      )}
    </Panel>
  );
}

/** The subjects that the policy names: in words if it names all of a kind, and otherwise as links. */
function Subjects({ policy }: { readonly policy: Policy }) {
  const { type, users, groups, devices } = policy;
  if (type === "SITETOSITE") return t("policies.scope.anySite");
  const all = [
    ...(policy.allUsers ? [t("policies.fields.allUsers")] : []),
    ...(policy.allGroups ? [t("policies.fields.allGroups")] : []),
    ...(policy.allDevices ? [t("policies.fields.allDevices")] : []),
  ];
  const named = [
    ...groups.map(({ id, name }) => ({ id, name, path: "groups" })),
    ...users.map(({ id, email = id }) => ({ id, name: email, path: "users" })),
    ...devices.map(({ id, name }) => ({ id, name, path: "devices" })),
  ];
  if (all.length === 0 && named.length === 0) return <Text c="dimmed">{t("policies.scope.noSubjects")}</Text>;
  return (
    <>
      {all.join(", ")}
      {all.length > 0 && named.length > 0 && ", "}
      {named.length > 0 && <RecordLinks records={named} />}
    </>
  );
}
