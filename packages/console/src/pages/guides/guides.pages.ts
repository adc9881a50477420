import { BookOpen } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

/** The guides. The menu of the account and empty lists link to them. */
export const guidePages: PageSet = {
  path: "guides",
  title: t("guides.title"),
  icon: BookOpen,
  section: "start",
  isHidden: true,
  list: async () => (await import("./guides.page.tsx")).GuidesPage,
  detail: async () => (await import("./guide.page.tsx")).GuidePage,
};
