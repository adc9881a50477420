/** The list of guides. */
import { List, Paper, Stack, Title } from "@mantine/core";
import { useEffect } from "react";
import { t } from "../../messages/i18n.ts";
import { guideNames } from "../../records/guide-link.tsx";
import { RecordLink } from "../../records/record-link.tsx";

export function GuidesPage() {
  useEffect(() => {
    document.title = t("common.documentTitle", { title: t("guides.title") });
  }, []);
  return (
    <Stack maw={760}>
      <Title order={1}>{t("guides.title")}</Title>
      <Paper withBorder p="md">
        <List listStyleType="none" spacing="xs">
          {guideNames.map((name) => (
            <List.Item key={name}>
              <RecordLink to={`/guides/${name}`}>{t(`guides.names.${name}`)}</RecordLink>
            </List.Item>
          ))}
        </List>
      </Paper>
    </Stack>
  );
}
