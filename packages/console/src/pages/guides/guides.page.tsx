/** The list of guides, by task. */
import { List, SimpleGrid, Stack, Title } from "@mantine/core";
import { useEffect } from "react";
import { t } from "../../messages/i18n.ts";
import type { GuideName } from "../../records/guide-link.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";

/** Each guide is in one of the groups. */
export const guideGroups = {
  start: ["tour", "console", "glossary"],
  people: ["invitations", "identity-providers", "device"],
  network: ["gateway", "access", "access-impact", "revert"],
  automation: ["declarative", "change-sets", "command-line", "keys", "webhooks"],
  server: ["deployment", "configuration", "operations", "sizing"],
} as const satisfies Readonly<Record<string, readonly GuideName[]>>;

const groups = Object.keys(guideGroups) as (keyof typeof guideGroups)[]; // the keys of the constant above

export function GuidesPage() {
  useEffect(() => {
    document.title = t("common.documentTitle", { title: t("guides.title") });
  }, []);
  return (
    <Stack>
      <Title order={1}>{t("guides.title")}</Title>
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} className="panels">
        {groups.map((group) => (
          <Panel key={group} title={t(`guides.groups.${group}`)}>
            <List listStyleType="none" spacing="xs">
              {guideGroups[group].map((name) => (
                <List.Item key={name}>
                  <RecordLink to={`/guides/${name}`}>{t(`guides.names.${name}`)}</RecordLink>
                </List.Item>
              ))}
            </List>
          </Panel>
        ))}
      </SimpleGrid>
    </Stack>
  );
}
