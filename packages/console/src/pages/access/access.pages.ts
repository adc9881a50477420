import { Waypoints } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const accessPages: PageSet = {
  path: "access",
  title: t("access.title"),
  icon: Waypoints,
  section: "access",
  permission: "decisions:read",
  list: async () => (await import("./access.page.tsx")).AccessPage,
};
