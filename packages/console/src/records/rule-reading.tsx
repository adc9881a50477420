/** A read-only admission rule: its conditions in words, and its text. */
import { Code, Stack, Text } from "@mantine/core";
import { capitalize } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";

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
        {text.split(betweenComparisons).map((part, index) =>
          index % 2 === 1 ? (
            part
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts can be equal, and their order is fixed
            <span key={index} className="comparison">
              {part}
            </span>
          ),
        )}
      </Code>
    </Stack>
  );
}

/** The text of a rule breaks here, and not between the name and the value of a comparison. */
const betweenComparisons = /(\s*(?:&&|\|\|)\s*)/;
