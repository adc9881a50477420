/** The policy and the admission rule that are about to be created, in words. */
import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { capitalize, formatList } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { nameChosen } from "../../records/record-picker.tsx";
import { formatRule } from "../admission-rules/format-condition.ts";
import { type Access, ruleOf } from "./publish-changes.ts";

/** @param name the resource's name, from which the names of both records are made */
export function AccessSummary({ access, name }: { readonly access: Access; readonly name: string }) {
  const { everyone, groups } = access;
  const { data: named } = useQuery({
    queryKey: ["/tenants/groups", "chosen", groups],
    enabled: !everyone,
    queryFn: ({ signal }) => nameChosen("/tenants/groups", groups, signal),
  });
  const conditions = formatRule(ruleOf(access))?.conditions ?? [];
  return (
    <Stack gap={2}>
      <Text>
        {everyone
          ? t("publish.summary.policyForAll", { policy: t("publish.policyName", { name }) })
          : t("publish.summary.policy", {
              policy: t("publish.policyName", { name }),
              groups: formatList((named ?? []).map((group) => t("common.quoted", { text: group.name }))),
              count: groups.length,
            })}
      </Text>
      {conditions.length > 0 && (
        <>
          <Text>{t("publish.summary.rule", { rule: t("publish.ruleName", { name }) })}</Text>
          <ul className="bullets">
            {conditions.map((condition) => (
              <li key={condition}>{capitalize(condition)}</li>
            ))}
          </ul>
        </>
      )}
    </Stack>
  );
}
