import { Router } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const gatewayPages: PageSet = {
  path: "gateways",
  title: t("gateways.title"),
  icon: Router,
  section: "network",
  permission: "gateways:read",
  list: async () => (await import("./gateways.page.tsx")).GatewaysListPage,
  detail: async () => (await import("./gateway.page.tsx")).GatewayPage,
  find: { path: "/tenants/gateways" },
  create: { title: t("gateways.create"), permission: "gateways:write" },
};
