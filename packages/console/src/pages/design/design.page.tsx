/** The design system: tokens, statuses, kinds and controls. */
import { Button, Group, SimpleGrid, Stack, Table, Text, Title } from "@mantine/core";
import { useEffect } from "react";
import { usePageSets } from "../../app/page-sets.ts";
import { Warning } from "../../app/warning.tsx";
import { compareText } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { Kind, kindsWithIcon } from "../../records/kind-icon.tsx";
import { Facts, Panel } from "../../records/record-page.tsx";
import { Status, tones } from "../../records/status.tsx";

const surfaces = ["--canvas", "--chrome", "--panel", "--line"] as const;

export function DesignPage() {
  useEffect(() => {
    document.title = t("common.documentTitle", { title: t("design.title") });
  }, []);
  const kinds = usePageSets()
    .filter(({ path }) => kindsWithIcon.includes(path))
    .sort((one, other) => compareText(one.title, other.title));
  return (
    <Stack>
      <Title order={1}>{t("design.title")}</Title>
      <SimpleGrid cols={{ base: 1, md: 2 }} className="panels">
        <Panel title={t("design.surfaces")}>
          <Group>
            {surfaces.map((token) => (
              <Stack key={token} gap={4}>
                <div
                  style={{ width: 88, height: 48, background: `var(${token})`, border: "1px solid var(--line)" }}
                  aria-hidden
                />
                <Text size="xs">{token}</Text>
              </Stack>
            ))}
          </Group>
        </Panel>
        <Panel title={t("design.statuses")}>
          <Facts
            facts={tones.map((tone) => ({
              label: t(`design.tones.${tone}.meaning`),
              value: <Status tone={tone}>{t(`design.tones.${tone}.example`)}</Status>,
            }))}
          />
        </Panel>
        <Panel title={t("design.kinds")}>
          <Table className="record-table">
            <Table.Tbody>
              {kinds.map(({ path, title }) => (
                <Table.Tr key={path}>
                  <Table.Td>
                    <Kind of={path}>{title}</Kind>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Panel>
        <Panel title={t("design.controls")}>
          <Stack>
            <Title order={2}>{t("design.headings")}</Title>
            <Text>{t("design.text")}</Text>
            <Text c="dimmed" size="sm">
              {t("design.secondaryText")}
            </Text>
            <Group>
              <Button>{t("design.primary")}</Button>
              <Button variant="default">{t("design.secondary")}</Button>
              <Button color="red">{t("design.danger")}</Button>
            </Group>
            <Warning title={t("design.notice")}>{t("design.noticeText")}</Warning>
          </Stack>
        </Panel>
      </SimpleGrid>
    </Stack>
  );
}
