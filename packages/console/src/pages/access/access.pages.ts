import { Waypoints } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";

export const accessPages: PageSet = {
  path: "access",
  title: "Access",
  icon: Waypoints,
  section: "access",
  permission: "decisions:read",
  list: async () => (await import("./access.page.tsx")).AccessPage,
};
