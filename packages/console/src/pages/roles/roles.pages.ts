import { KeySquare } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";

export const rolePages: PageSet = {
  path: "roles",
  title: "Roles",
  icon: KeySquare,
  section: "administration",
  permission: "roles:read",
  list: async () => (await import("./roles.page.tsx")).RolesListPage,
  detail: async () => (await import("./role.page.tsx")).RolePage,
};
