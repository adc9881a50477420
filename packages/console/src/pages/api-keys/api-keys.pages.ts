import { KeyRound } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";

export const apiKeyPages: PageSet = {
  path: "api-keys",
  title: "API keys",
  icon: KeyRound,
  section: "Administration",
  permission: "api-keys:read",
  list: async () => (await import("./api-keys.page.tsx")).ApiKeysListPage,
};
