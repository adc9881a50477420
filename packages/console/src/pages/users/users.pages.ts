import { Users } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";

export const userPages: PageSet = {
  path: "users",
  title: "Users",
  icon: Users,
  section: "people",
  permission: "users:read",
  list: async () => (await import("./users.page.tsx")).UsersListPage,
  detail: async () => (await import("./user.page.tsx")).UserPage,
  create: { title: "Invite users", permission: "users:write" },
  find: { path: "/tenants/users", field: "email" },
};
