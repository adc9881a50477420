/** The difference between the tenant and a document, record by record. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Button, Group, Table, Text } from "@mantine/core";
import { useState } from "react";
import { t } from "../../messages/i18n.ts";
import { ChangedValues } from "../../records/changed-values.tsx";

export type Plan = ResultOf<"/tenants/configuration/plan", "post">;

const shownAtFirst = 100;

const signs = { create: "+", update: "~", delete: "−" } as const;
const classes = { create: "added", update: "", delete: "removed" } as const;

type Change = Plan["changes"][number];

export function PlanTable({ plan: { changes, summary } }: { readonly plan: Plan }) {
  const [shown, setShown] = useState(shownAtFirst);
  return (
    <>
      <Group gap="xl">
        <Text className="added">{t("configuration.plan.created", { count: summary.created })}</Text>
        <Text>{t("configuration.plan.updated", { count: summary.updated })}</Text>
        <Text className="removed">{t("configuration.plan.deleted", { count: summary.deleted })}</Text>
      </Group>
      <Table.ScrollContainer
        minWidth={0}
        type="native"
        tabIndex={0}
        role="group"
        aria-label={t("configuration.apply.difference")}
      >
        <Table className="record-table stacks" aria-label={t("configuration.apply.difference")}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t("configuration.plan.record")}</Table.Th>
              <Table.Th>{t("configuration.plan.change")}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {changes.slice(0, shown).map((change) => (
              <Table.Tr key={`${change.kind} ${change.policyType ?? ""} ${change.action} ${change.name}`}>
                <Table.Td className={classes[change.action]}>
                  <span aria-hidden>{signs[change.action]} </span>
                  <span className="unseen">{t(`configuration.plan.actions.${change.action}`)} </span>
                  {t(`configuration.plan.kinds.${change.kind}`)} <bdi>{change.name}</bdi>
                  {change.policyType !== undefined && ` (${change.policyType})`}
                </Table.Td>
                <Table.Td>
                  <Fields change={change} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {changes.length > shown && (
        <Button variant="default" size="xs" style={{ alignSelf: "start" }} onClick={() => setShown(changes.length)}>
          {t("configuration.plan.more", { count: changes.length - shown })}
        </Button>
      )}
    </>
  );
}

function Fields({ change: { action, fields, implied } }: { readonly change: Change }) {
  if (action !== "update") return <Text c="dimmed">{t(`configuration.plan.whole.${action}`)}</Text>;
  return (
    <>
      {implied === true && (
        <Text size="sm" c="dimmed">
          {t("configuration.plan.implied")}
        </Text>
      )}
      {fields.map(({ field, before, after, added = [], removed = [] }) => (
        <div key={field}>
          <Text span size="sm" fw={600}>
            {field}
          </Text>{" "}
          {before !== undefined && <ChangedValues change="removed" values={textsOf(before)} />}
          {after !== undefined && <ChangedValues change="added" values={textsOf(after)} />}
          <ChangedValues change="removed" values={textsOf(removed)} />
          <ChangedValues change="added" values={textsOf(added)} />
        </div>
      ))}
    </>
  );
}

function textsOf(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : [value]).map((item) =>
    typeof item === "string" ? item : JSON.stringify(item),
  );
}
