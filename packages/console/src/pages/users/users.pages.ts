import { User } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const userPages: PageSet = {
  path: "users",
  title: t("users.title"),
  icon: User,
  section: "people",
  permission: "users:read",
  list: async () => (await import("./users.page.tsx")).UsersListPage,
  detail: async () => (await import("./user.page.tsx")).UserPage,
  create: { title: t("users.invite.title"), permission: "users:write" },
  actions: [
    { title: t("common.edit"), parameter: "edit", permission: "users:write" },
    { title: t("users.deactivate.label"), parameter: "deactivate", permission: "users:write" },
  ],
  tasks: [
    {
      title: t("app.palette.tasks.deactivateUser"),
      keywords: t("app.palette.tasks.deactivateUserKeywords"),
      permission: "users:write",
    },
  ],
  find: { path: "/tenants/users", field: "email" },
};
