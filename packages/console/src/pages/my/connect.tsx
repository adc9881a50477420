/** How a person adds a computer. */
import { Anchor, Code, Group, List, Stack, Text } from "@mantine/core";
import { CopyText } from "../../app/copy.tsx";
import { useInstallation } from "../../app/installation.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { Panel } from "../../records/record-page.tsx";

export function Connect() {
  return (
    <Panel title={t("my.connect.title")}>
      <Stack>
        <ConnectSteps />
        <Text c="dimmed">{t("my.connect.others")}</Text>
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
      <Text>{t("my.connect.intro")}</Text>
      <List type="ordered" spacing="sm" pr="md">
        <List.Item>
          {t("my.connect.stepRun")}
          <Group mt={6} gap="xs" align="center">
            <Code className="value" aria-label={t("my.connect.command")} style={{ overflowWrap: "anywhere" }}>
              {command}
            </Code>
            <CopyText text={command} size="xs" variant="default">
              {t("my.connect.copy")}
            </CopyText>
          </Group>
        </List.Item>
        <List.Item>
          <RichText
            message="my.connect.stepApprove"
            elements={{ a: <Anchor href="/console/code" inherit underline="always" /> }}
          />
        </List.Item>
        <List.Item>{t("my.connect.stepDone")}</List.Item>
      </List>
    </Stack>
  );
}
