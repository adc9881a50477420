import { History } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const eventPages: PageSet = {
  path: "events",
  title: t("events.title"),
  icon: History,
  section: "administration",
  permission: "events:read",
  list: async () => (await import("./events.page.tsx")).EventsListPage,
  detail: async () => (await import("./event.page.tsx")).EventPage,
};
