import { ShieldCheck } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const policyPages: PageSet = {
  path: "policies",
  title: t("policies.title"),
  icon: ShieldCheck,
  section: "access",
  permission: "policies:read",
  list: async () => (await import("./policies.page.tsx")).PoliciesListPage,
  detail: async () => (await import("./policy.page.tsx")).PolicyPage,
  create: { title: t("policies.create"), permission: "policies:write" },
  actions: [
    { title: t("common.edit"), parameter: "edit", permission: "policies:write" },
    { title: t("policies.deactivate"), parameter: "deactivate", permission: "policies:write" },
  ],
  tasks: [{ title: t("app.palette.tasks.deactivatePolicy"), permission: "policies:write" }],
  find: { path: "/tenants/policies", field: "name" },
};
