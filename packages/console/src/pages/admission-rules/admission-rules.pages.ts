import { ScrollText } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const admissionRulePages: PageSet = {
  path: "admission-rules",
  title: t("admissionRules.title"),
  icon: ScrollText,
  section: "access",
  permission: "admission-rules:read",
  list: async () => (await import("./admission-rules.page.tsx")).AdmissionRulesListPage,
  detail: async () => (await import("./admission-rule.page.tsx")).AdmissionRulePage,
  create: { title: t("admissionRules.create"), permission: "admission-rules:write" },
  actions: [{ title: t("common.edit"), parameter: "edit", permission: "admission-rules:write" }],
  find: { path: "/tenants/admission-rules" },
};
