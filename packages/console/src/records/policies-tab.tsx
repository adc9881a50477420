/** The policies that name a group, or the resources behind a gateway, with what they allow. */
import type { ItemAt } from "@gatehouse/client/calls";
import { Skeleton, Text } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { t } from "../messages/i18n.ts";
import { allPoliciesQuery } from "./all-policies.ts";
import { createPolicy, EmptyState } from "./empty-list.tsx";
import { formatConditions } from "./policy-conditions.ts";
import { PolicyRows } from "./policy-rows.tsx";
import { RecordLink, RecordLinks } from "./record-link.tsx";
import { Panel } from "./record-page.tsx";
import { RelativeTime } from "./relative-time.tsx";
import { PolicyAction, Status } from "./status.tsx";

type Policy = ItemAt<"/tenants/policies">;

const types = ["PRIVATE", "SAAS", "INTERNET", "SITETOSITE"] as const;

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
    <Panel title={t("common.titleCount", { title, count: found.length })}>
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
        <PolicyRows
          label={title}
          last={{ title: t("records.policiesTab.changed"), className: "one-line roomy" }}
          rows={found.map((policy) => ({
            key: policy.id,
            policy: <RecordLink to={`/policies/${policy.id}`}>{policy.name}</RecordLink>,
            action: policy.active ? (
              <PolicyAction allows={policy.action} conditions={formatConditions(policy)} />
            ) : (
              <Status tone="idle">{t("records.status.inactive")}</Status>
            ),
            subjects: <Subjects policy={policy} />,
            resources: policy.allResources ? (
              t("records.policiesTab.allResources")
            ) : (
              <RecordLinks path="resources" records={policy.resources} />
            ),
            last: <RelativeTime at={policy.updatedAt} />,
          }))}
        />
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
