/** A value that people enter elsewhere, such as a URL, with a button that copies it. */
import { Code, Group } from "@mantine/core";
import { CopyText } from "../app/copy.tsx";
import { t } from "../messages/i18n.ts";
import { BreakingUrl } from "./url-value.tsx";

interface CopiedValueProps {
  /** The name of the value, which tells the buttons of several values apart. */
  readonly label: string;
  readonly text: string;
  /** Whether the text has parts between which it breaks, as a URL has. A key has none. */
  readonly hasParts?: boolean;
}

export function CopiedValue({ label, text, hasParts = text.startsWith("http") }: CopiedValueProps) {
  return (
    <Group gap="xs" align="baseline" justify="space-between" wrap="nowrap">
      {/* A long key fills each of its lines. */}
      <Code block p="4px 6px" miw={0} flex={1} className="value" style={hasParts ? {} : { wordBreak: "break-all" }}>
        {hasParts ? <BreakingUrl url={text} /> : text}
      </Code>
      <CopyText text={text} variant="default" size="xs" flex="none" aria-label={t("common.copyNamed", { name: label })}>
        {t("common.copy")}
      </CopyText>
    </Group>
  );
}
