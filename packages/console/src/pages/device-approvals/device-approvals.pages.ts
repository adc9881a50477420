import { BadgeCheck } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const deviceApprovalPages: PageSet = {
  path: "device-approvals",
  title: t("deviceSessions.approvals.title"),
  icon: BadgeCheck,
  section: "people",
  permission: "devices:read",
  list: async () => (await import("./device-approvals.page.tsx")).DeviceApprovalsPage,
};
