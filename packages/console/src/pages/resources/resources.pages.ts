import { Server } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const resourcePages: PageSet = {
  path: "resources",
  title: t("resources.title"),
  icon: Server,
  section: "network",
  permission: "resources:read",
  list: async () => (await import("./resources.page.tsx")).ResourcesListPage,
  detail: async () => (await import("./resource.page.tsx")).ResourcePage,
  create: { title: t("resources.create"), permission: "resources:write" },
  find: { path: "/tenants/resources", field: "name" },
};
