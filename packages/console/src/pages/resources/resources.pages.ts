import { Server } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";

export const resourcePages: PageSet = {
  path: "resources",
  title: "Resources",
  icon: Server,
  section: "network",
  permission: "resources:read",
  list: async () => (await import("./resources.page.tsx")).ResourcesListPage,
  detail: async () => (await import("./resource.page.tsx")).ResourcePage,
  create: { title: "Create a resource", permission: "resources:write" },
  find: { path: "/tenants/resources", field: "name" },
};
