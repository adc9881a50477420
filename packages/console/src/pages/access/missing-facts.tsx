/** The facts that a denied request lacks. Each fact leads to the change that provides it, with its preview. */
import { Button, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { api } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { allPoliciesQuery } from "../../records/all-policies.ts";
import { moved } from "../../records/moved.ts";
import type { PlannedChange } from "../../records/planned-change.ts";
import { ReviewDialog } from "../../records/reviewed-change.tsx";
import { readRule } from "../../records/rule-conditions.ts";
import { type Considered, formatMissing, type Missing, type NearestMiss } from "./format-access.ts";
import { Observed } from "./observed.tsx";
import { deviceQuery } from "./obstacles.tsx";

interface MissingFactsProps {
  readonly miss: NearestMiss;
  readonly policies: readonly Considered[];
  /** Id of the user; empty for a device alone. */
  readonly user: string;
  /** Id of the device; empty for none. */
  readonly device: string;
}

export function MissingFacts({ miss, policies, user, device }: MissingFactsProps) {
  const rule = policies.find(({ policy }) => policy.id === miss.policy?.id)?.rule;
  return (
    <ul className="bullets missing-facts">
      {miss.missing.map((fact) => (
        <li key={formatMissing(fact)}>
          <Group justify="space-between" gap="sm">
            <div>
              <bdi>
                {formatMissing(fact)}
                {fact.condition !== undefined && <Observed condition={fact.condition} />}
              </bdi>
              <RemedyOnDevice fact={fact} device={device} />
            </div>
            <Group gap="xs">
              <Remedies fact={fact} policy={miss.policy} ruleId={rule?.id} user={user} />
            </Group>
          </Group>
        </li>
      ))}
    </ul>
  );
}

interface RemedyOnDeviceProps {
  readonly fact: Missing;
  readonly device: string;
}

/** The remedy on a device with another posture. It comes before a change of the rule, which is for everybody. */
function RemedyOnDevice({ fact: { condition, negated = false }, device }: RemedyOnDeviceProps) {
  const canRead = usePermission("devices:read");
  const rule = condition === undefined ? undefined : readRule(condition.text);
  const [posture] = rule?.conditions.length === 1 ? rule.conditions : [];
  const isReported = condition?.values.some(({ value }) => value !== undefined) === true;
  const isAsked = posture?.kind === "posture" && isReported && device !== "";
  const { data, isPending } = useQuery({ ...deviceQuery(device), enabled: canRead && isAsked });
  if (!isAsked || (canRead && isPending) || data?.agent === false) return null;
  const { name, comparison, value } = posture;
  const isWanted = !negated && comparison === "==" && value === true;
  const known = isWanted && (name === "diskEncrypted" || name === "osUpToDate") ? name : "other";
  const named = data === undefined ? t("access.remedies.theDevice") : t("common.quoted", { text: data.name });
  return <Text size="sm">{t(`access.remedies.onDevice.${known}`, { device: named })}</Text>;
}

interface RemediesProps {
  readonly fact: Missing;
  readonly policy: NearestMiss["policy"];
  readonly ruleId: string | undefined;
  readonly user: string;
}

const mostOffered = 3;

function Remedies({ fact, policy, ruleId, user }: RemediesProps): ReactNode {
  const [canUsers, canPolicies, canRules] = [
    usePermission("users:write"),
    usePermission("policies:write"),
    usePermission("admission-rules:write"),
  ];
  switch (fact.kind) {
    case "source":
      if (!canUsers || user === "") return null;
      return (fact.groups ?? [])
        .slice(0, mostOffered)
        .map((group) => <AddToGroup key={group.id} user={user} group={group} />);
    case "denied-by":
      if (!canPolicies || policy === undefined || fact.policy === undefined) return null;
      return <MoveAbove policy={policy} above={fact.policy} />;
    case "condition":
      if (!canRules || ruleId === undefined) return null;
      return <EditLink to={`/admission-rules/${ruleId}`}>{t("access.remedies.editRule")}</EditLink>;
    case "source-address":
      if (!canPolicies || policy === undefined) return null;
      return <EditLink to={`/policies/${policy.id}`}>{t("access.remedies.editPolicy")}</EditLink>;
    default:
      return null;
  }
}

/** The search is `never`, because `to` can be any page. */
function EditLink({ to, children }: { readonly to: string; readonly children: string }) {
  return (
    <Button component={Link} to={to} search={{ edit: "1" } as never} size="xs" variant="default">
      {children}
    </Button>
  );
}

interface Named {
  readonly id: string;
  readonly name: string;
}

interface RemedyProps {
  readonly label: string;
  readonly title: string;
  readonly changes: readonly PlannedChange[];
}

function Remedy({ label, title, changes }: RemedyProps) {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpened(true)}>
        <bdi>{label}</bdi>
      </Button>
      {opened && <ReviewDialog title={title} changes={changes} label={label} close={() => setOpened(false)} />}
    </>
  );
}

function AddToGroup({ user, group }: { readonly user: string; readonly group: Named }) {
  const { data } = useQuery({
    queryKey: ["/tenants/users/{id}", user, "name"],
    queryFn: ({ signal }) => api.get("/tenants/users/{id}", { path: { id: user }, signal }),
  });
  return (
    <Remedy
      label={t("access.remedies.addToGroup", { group: group.name })}
      title={t("access.remedies.addToGroupTitle", { user: data?.email ?? t("access.query.user"), group: group.name })}
      changes={[{ method: "POST", path: `/tenants/users/${user}/groups`, body: { groupId: group.id } }]}
    />
  );
}

interface MoveAboveProps {
  readonly policy: { readonly id?: string; readonly name: string };
  readonly above: { readonly id?: string; readonly name: string };
}

/** A new order names every policy of the type, so the button appears when all of them are known. */
function MoveAbove({ policy, above }: MoveAboveProps) {
  const { data: stored } = useQuery({
    queryKey: ["/tenants/policies/{id}", policy.id ?? "", "type"],
    enabled: policy.id !== undefined,
    queryFn: ({ signal }) => api.get("/tenants/policies/{id}", { path: { id: policy.id ?? "" }, signal }),
  });
  const { data: all = [] } = useQuery({
    ...allPoliciesQuery(stored?.type ?? "PRIVATE"),
    enabled: stored !== undefined,
  });
  const ids = all.map(({ id }) => id);
  const [from, to] = [ids.indexOf(policy.id ?? ""), ids.indexOf(above.id ?? "")];
  if (stored === undefined || from < 0 || to < 0) return null;
  return (
    <Remedy
      label={t("access.remedies.moveAbove", { name: above.name })}
      title={t("access.remedies.moveAboveTitle", { policy: policy.name, name: above.name })}
      changes={[
        {
          method: "POST",
          path: "/tenants/policies/reorder",
          body: { type: stored.type, policies: moved(ids, from, to) },
        },
      ]}
    />
  );
}
