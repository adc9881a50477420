/** How a person adds a computer. */
import { Anchor, List, Stack } from "@mantine/core";
import { CopyText } from "../../app/copy.tsx";
import { useInstallation } from "../../app/installation.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { CodeLines } from "../../records/code-lines.tsx";
import { Intro } from "../../records/intro.tsx";
import { LoopbackNote } from "../../records/loopback-note.tsx";
import { Panel } from "../../records/record-page.tsx";

export function Connect() {
  return (
    <Panel title={t("my.connect.title")}>
      <Stack>
        <ConnectSteps />
        <Intro>{t("my.connect.others")}</Intro>
      </Stack>
    </Panel>
  );
}

export function ConnectSteps() {
  const installation = useInstallation();
  const url = installation?.publicUrl ?? globalThis.location.origin;
  const command = `sudo gatehouse-device enrol --url ${url}`;
  return (
    <Stack>
      {installation !== undefined && <LoopbackNote url={url} about="command" />}
      <Intro>{t("my.connect.intro")}</Intro>
      <List type="ordered" spacing="sm">
        <List.Item>
          {t("my.connect.stepRun")}
          <Stack mt={6} gap="xs">
            <CodeLines label={t("my.connect.command")}>{command}</CodeLines>
            <CopyText text={command} size="xs" variant="default" style={{ alignSelf: "flex-start" }}>
              {t("my.connect.copy")}
            </CopyText>
          </Stack>
        </List.Item>
        <List.Item>
          <RichText
            message="my.connect.stepApprove"
            elements={{ a: <Anchor href="/console/code" inherit underline="always" /> }}
          />
        </List.Item>
      </List>
      <Intro>{t("my.connect.stepDone")}</Intro>
    </Stack>
  );
}
