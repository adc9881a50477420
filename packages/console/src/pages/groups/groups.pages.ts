import { Users } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const groupPages: PageSet = {
  path: "groups",
  title: t("groups.title"),
  icon: Users,
  section: "people",
  permission: "groups:read",
  list: async () => (await import("./groups.page.tsx")).GroupsListPage,
  detail: async () => (await import("./group.page.tsx")).GroupPage,
  create: { title: t("groups.create"), permission: "groups:write" },
  find: { path: "/tenants/groups", field: "name" },
};
