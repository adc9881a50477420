/** A read-only admission rule: its conditions in words, and its text. */
import { Code, Stack, Text } from "@mantine/core";
import { capitalize } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";
import { WholeConditions } from "./whole-words.tsx";

interface RuleReadingProps {
  readonly text: string;
  /** Undefined if the rule cannot be expressed in words. */
  readonly reading: { readonly match: "all" | "any"; readonly conditions: readonly string[] } | undefined;
}

export function RuleReading({ text, reading }: RuleReadingProps) {
  return (
    <Stack gap={6}>
      {reading !== undefined && reading.conditions.length === 1 && (
        <Text>{capitalize(reading.conditions[0] ?? "")}</Text>
      )}
      {reading !== undefined && reading.conditions.length > 1 && (
        <section aria-label={t("records.rule.region")}>
          <Text>{reading.match === "all" ? t("records.rule.all") : t("records.rule.any")}</Text>
          <ul className="bullets">
            {reading.conditions.map((condition) => (
              <li key={condition}>{capitalize(condition)}</li>
            ))}
          </ul>
        </section>
      )}
      <Code block className="value">
        <WholeConditions text={text} />
      </Code>
    </Stack>
  );
}
