/** The conditions of a rule before and after a change, side by side. */
import { SimpleGrid, Stack, Title } from "@mantine/core";
import { t } from "../../messages/i18n.ts";
import { RuleReading } from "../../records/rule-reading.tsx";
import { formatRule } from "./format-condition.ts";
import { WeekOf } from "./week-strip.tsx";

interface RuleDifferenceProps {
  readonly before: string;
  readonly after: string;
}

/** Shows nothing if the rule is the same. */
export function RuleDifference({ before, after }: RuleDifferenceProps) {
  if (before === after) return null;
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <Version title={t("admissionRules.difference.before")} text={before} />
      <Version title={t("admissionRules.difference.after")} text={after} />
    </SimpleGrid>
  );
}

function Version({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <Stack component="section" aria-label={title} gap="xs" style={{ minWidth: 0 }}>
      <Title order={3} size="h5">
        {title}
      </Title>
      <RuleReading text={text} reading={formatRule(text)} />
      <WeekOf text={text} />
    </Stack>
  );
}
