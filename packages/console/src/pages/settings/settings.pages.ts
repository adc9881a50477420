import { Settings } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const settingsPages: PageSet = {
  path: "settings",
  title: t("settings.title"),
  icon: Settings,
  section: "administration",
  permission: "settings:read",
  list: async () => (await import("./settings.page.tsx")).SettingsPage,
};
