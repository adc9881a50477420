import { Share2 } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const publishPages: PageSet = {
  path: "publish",
  title: t("publish.title"),
  icon: Share2,
  section: "start",
  permission: "resources:write",
  list: async () => (await import("./publish.page.tsx")).PublishPage,
};
