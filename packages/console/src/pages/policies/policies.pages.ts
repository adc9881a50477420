import { ShieldCheck } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";

export const policyPages: PageSet = {
  path: "policies",
  title: "Policies",
  icon: ShieldCheck,
  section: "access",
  permission: "policies:read",
  list: async () => (await import("./policies.page.tsx")).PoliciesListPage,
  detail: async () => (await import("./policy.page.tsx")).PolicyPage,
  create: { title: "Create a policy", permission: "policies:write" },
  find: { path: "/tenants/policies", field: "name" },
};
