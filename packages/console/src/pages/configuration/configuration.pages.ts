import { FileCode } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const configurationPages: PageSet = {
  path: "configuration",
  title: t("configuration.title"),
  icon: FileCode,
  section: "administration",
  permission: "configuration:read",
  list: async () => (await import("./configuration.page.tsx")).ConfigurationPage,
};
