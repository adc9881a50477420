import { ScrollText } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";

export const admissionRulePages: PageSet = {
  path: "admission-rules",
  title: "Admission rules",
  icon: ScrollText,
  section: "access",
  permission: "admission-rules:read",
  list: async () => (await import("./admission-rules.page.tsx")).AdmissionRulesListPage,
  detail: async () => (await import("./admission-rule.page.tsx")).AdmissionRulePage,
  create: { title: "Create an admission rule", permission: "admission-rules:write" },
  find: { path: "/tenants/admission-rules" },
};
