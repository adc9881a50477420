import { KeyRound } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";

export const apiKeyPages: PageSet = {
  path: "api-keys",
  title: "API keys",
  icon: KeyRound,
  section: "administration",
  permission: "api-keys:read",
  list: async () => (await import("./api-keys.page.tsx")).ApiKeysListPage,
  detail: async () => (await import("./api-key.page.tsx")).ApiKeyPage,
  create: { title: "Create an API key", permission: "api-keys:write" },
  find: { path: "/tenants/api-keys" },
};
