import { Globe } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const domainPages: PageSet = {
  path: "domains",
  title: t("domains.title"),
  icon: Globe,
  section: "administration",
  permission: "identity-providers:read",
  list: async () => (await import("./domains.page.tsx")).DomainsPage,
  create: { title: t("domains.create"), permission: "identity-providers:write" },
};
