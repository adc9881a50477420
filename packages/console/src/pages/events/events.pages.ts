import { History } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const eventPages: PageSet = {
  path: "events",
  title: t("events.title"),
  icon: History,
  section: "administration",
  permission: "events:read",
  keywords: t("app.palette.tasks.auditKeywords"),
  tasks: [
    {
      title: t("app.palette.tasks.exportAudit"),
      keywords: t("app.palette.tasks.auditKeywords"),
      permission: "events:read",
    },
    { title: t("app.palette.tasks.revert"), keywords: t("app.palette.tasks.revertKeywords"), permission: "*:write" },
  ],
  list: async () => (await import("./events.page.tsx")).EventsListPage,
  detail: async () => (await import("./event.page.tsx")).EventPage,
};
