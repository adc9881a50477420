import { BookOpen } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";
import { guideNames } from "../../records/guide-link.tsx";

/** The guides. The command palette finds them; the menu of the account and empty lists link to them. */
export const guidePages: PageSet = {
  path: "guides",
  title: t("guides.title"),
  icon: BookOpen,
  section: "start",
  isHidden: true,
  entries: {
    kind: t("guides.kind"),
    pages: [{ id: "", title: t("guides.title") }, ...guideNames.map((id) => ({ id, title: t(`guides.names.${id}`) }))],
  },
  list: async () => (await import("./guides.page.tsx")).GuidesPage,
  detail: async () => (await import("./guide.page.tsx")).GuidePage,
};
