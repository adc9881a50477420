/** An admission rule for whoever only reads it: what it asks for in words, and its text. */
import { Code, Stack, Text } from "@mantine/core";

interface RuleReadingProps {
  readonly text: string;
  /** Undefined where it says more than there are words for. */
  readonly said: { readonly match: "all" | "any"; readonly conditions: readonly string[] } | undefined;
}

export function RuleReading({ text, said }: RuleReadingProps) {
  return (
    <Stack gap={6}>
      {said !== undefined && said.conditions.length === 1 && <Text>{capitalized(said.conditions[0] ?? "")}</Text>}
      {said !== undefined && said.conditions.length > 1 && (
        <section aria-label="The rule in words">
          <Text>{said.match === "all" ? "All of these:" : "Any of these:"}</Text>
          <ul className="said-rule">
            {said.conditions.map((condition) => (
              <li key={condition}>{condition}</li>
            ))}
          </ul>
        </section>
      )}
      <Code block className="value">
        {text}
      </Code>
    </Stack>
  );
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
