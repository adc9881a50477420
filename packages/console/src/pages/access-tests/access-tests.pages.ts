import { ListChecks } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";

export const accessTestPages: PageSet = {
  path: "access-tests",
  title: "Access tests",
  icon: ListChecks,
  section: "access",
  permission: "access-tests:read",
  list: async () => (await import("./access-tests.page.tsx")).AccessTestsListPage,
  detail: async () => (await import("./access-test.page.tsx")).AccessTestPage,
  create: { title: "Create an access test", permission: "access-tests:write" },
  find: { path: "/tenants/access-tests", field: "name" },
};
