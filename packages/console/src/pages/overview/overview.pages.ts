import { LayoutDashboard } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";

export const overviewPages: PageSet = {
  path: "overview",
  title: "Overview",
  icon: LayoutDashboard,
  section: "start",
  permission: "gateways:read",
  list: async () => (await import("./overview.page.tsx")).OverviewPage,
};
