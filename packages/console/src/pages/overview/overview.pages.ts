import { LayoutDashboard } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const overviewPages: PageSet = {
  path: "overview",
  title: t("overview.title"),
  icon: LayoutDashboard,
  section: "start",
  list: async () => (await import("./overview.page.tsx")).OverviewPage,
};
