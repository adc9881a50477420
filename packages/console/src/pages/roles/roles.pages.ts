import { UserCog } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const rolePages: PageSet = {
  path: "roles",
  title: t("roles.title"),
  icon: UserCog,
  section: "administration",
  permission: "roles:read",
  list: async () => (await import("./roles.page.tsx")).RolesListPage,
  detail: async () => (await import("./role.page.tsx")).RolePage,
};
