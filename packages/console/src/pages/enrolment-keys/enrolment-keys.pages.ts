import { TicketCheck } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const enrolmentKeyPages: PageSet = {
  path: "enrolment-keys",
  title: t("enrolmentKeys.title"),
  icon: TicketCheck,
  section: "people",
  permission: "devices:read",
  list: async () => (await import("./enrolment-keys.page.tsx")).EnrolmentKeysListPage,
  detail: async () => (await import("./enrolment-key.page.tsx")).EnrolmentKeyPage,
  create: { title: t("enrolmentKeys.create"), permission: "devices:write" },
  find: { path: "/tenants/enrolment-keys" },
};
