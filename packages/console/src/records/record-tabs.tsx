/** The tabs of a record's page: its details, and its access. The tab is part of the address. */
import { Tabs } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { t } from "../messages/i18n.ts";

interface RecordTabsProps {
  /** The content of the access tab, which is computed when the tab is shown. Absent without the permission to ask. */
  readonly access: ReactNode | undefined;
  /** The details. */
  readonly children: ReactNode;
}

export function RecordTabs({ access, children }: RecordTabsProps) {
  const search = useSearch({ strict: false }) as Readonly<Record<string, string>>; // the router parses every value as a string
  const navigate = useNavigate();
  if (access === undefined) return children;
  const tab = search.tab === "access" ? "access" : "details";
  const show = (next: string | null) =>
    void navigate({
      to: ".",
      // The search of the page, whose type depends on the route.
      search: { ...search, tab: next === "access" ? next : undefined } as never,
      resetScroll: false,
    });
  return (
    <Tabs value={tab} onChange={show} keepMounted={false}>
      <Tabs.List mb="md">
        <Tabs.Tab value="details">{t("records.tabs.details")}</Tabs.Tab>
        <Tabs.Tab value="access">{t("records.tabs.access")}</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="details">
        <div className="record-panels">{children}</div>
      </Tabs.Panel>
      <Tabs.Panel value="access">{tab === "access" && access}</Tabs.Panel>
    </Tabs>
  );
}
