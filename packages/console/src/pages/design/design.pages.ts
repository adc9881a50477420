import { Palette } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

/** Shows the parts that pages are made of, in both themes. People who change the console look at it. */
export const designPages: PageSet = {
  path: "design",
  title: t("design.title"),
  icon: Palette,
  section: "start",
  isHidden: true,
  list: async () => (await import("./design.page.tsx")).DesignPage,
};
