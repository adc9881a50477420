import { CircleUser } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const myPages: PageSet = {
  path: "my",
  title: t("my.title"),
  icon: CircleUser,
  section: "start",
  isHidden: true,
  list: async () => (await import("./my.page.tsx")).MyPage,
};
