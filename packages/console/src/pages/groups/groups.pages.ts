import { Group } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";

export const groupPages: PageSet = {
  path: "groups",
  title: "Groups",
  icon: Group,
  section: "People",
  permission: "groups:read",
  list: async () => (await import("./groups.page.tsx")).GroupsListPage,
  detail: async () => (await import("./group.page.tsx")).GroupPage,
  create: { title: "Create a group", permission: "groups:write" },
  find: { path: "/tenants/groups", field: "name" },
};
