import { KeyRound } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const apiKeyPages: PageSet = {
  path: "api-keys",
  title: t("apiKeys.title"),
  icon: KeyRound,
  section: "administration",
  permission: "api-keys:read",
  list: async () => (await import("./api-keys.page.tsx")).ApiKeysListPage,
  detail: async () => (await import("./api-key.page.tsx")).ApiKeyPage,
  create: { title: t("apiKeys.create"), permission: "api-keys:write" },
  tasks: [
    {
      title: t("app.palette.tasks.rotateKey"),
      keywords: t("app.palette.tasks.rotateKeyKeywords"),
      permission: "api-keys:write",
    },
  ],
  find: { path: "/tenants/api-keys" },
};
