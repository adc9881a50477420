/** A value that people enter elsewhere, such as a URL, with a button that copies it. */
import { Code, Group } from "@mantine/core";
import { Fragment } from "react";
import { CopyText } from "../app/copy.tsx";
import { t } from "../messages/i18n.ts";

interface CopiedValueProps {
  /** The name of the value, which tells the buttons of several values apart. */
  readonly label: string;
  readonly text: string;
}

export function CopiedValue({ label, text }: CopiedValueProps) {
  const isUrl = text.startsWith("http");
  return (
    <Group gap="xs" align="baseline" justify="space-between" wrap="nowrap">
      {/* A long key fills each of its lines. */}
      <Code block p="4px 6px" miw={0} flex={1} className="value" style={isUrl ? {} : { wordBreak: "break-all" }}>
        {isUrl ? <BreakingUrl url={text} /> : text}
      </Code>
      <CopyText text={text} variant="default" size="xs" flex="none" aria-label={t("common.copyNamed", { name: label })}>
        {t("common.copy")}
      </CopyText>
    </Group>
  );
}

/** A URL that breaks between its segments. */
function BreakingUrl({ url }: { readonly url: string }) {
  return url.split(/(?<=[^/]\/)(?!\/)/).map((segment, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: segments repeat, and have no identity
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {segment}
    </Fragment>
  ));
}
