import { TimerReset } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const deviceSessionPages: PageSet = {
  path: "device-sessions",
  title: t("deviceSessions.title"),
  icon: TimerReset,
  section: "people",
  permission: "devices:read",
  list: async () => (await import("./device-sessions.page.tsx")).DeviceSessionsPage,
};
