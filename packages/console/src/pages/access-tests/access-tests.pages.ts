import { ListChecks } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const accessTestPages: PageSet = {
  path: "access-tests",
  title: t("accessTests.title"),
  icon: ListChecks,
  section: "access",
  permission: "access-tests:read",
  list: async () => (await import("./access-tests.page.tsx")).AccessTestsListPage,
  detail: async () => (await import("./access-test.page.tsx")).AccessTestPage,
  create: { title: t("accessTests.create"), permission: "access-tests:write" },
  find: { path: "/tenants/access-tests", field: "name" },
};
