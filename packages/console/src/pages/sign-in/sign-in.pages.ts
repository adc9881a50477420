import { LogIn } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const signInPages: PageSet = {
  path: "sign-ins",
  title: t("signIn.log.title"),
  icon: LogIn,
  section: "administration",
  permission: "events:read",
  list: async () => (await import("./sign-ins.page.tsx")).SignInsPage,
};
