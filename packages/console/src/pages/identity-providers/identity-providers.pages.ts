import { IdCard } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const identityProviderPages: PageSet = {
  path: "identity-providers",
  title: t("identityProviders.title"),
  icon: IdCard,
  section: "administration",
  permission: "identity-providers:read",
  list: async () => (await import("./identity-providers.page.tsx")).IdentityProvidersListPage,
  detail: async () => (await import("./identity-provider.page.tsx")).IdentityProviderPage,
  create: { title: t("identityProviders.create"), permission: "identity-providers:write" },
  find: { path: "/tenants/identity-providers" },
};
