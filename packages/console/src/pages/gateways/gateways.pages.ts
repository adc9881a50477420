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
  actions: [{ title: t("gateways.steps.rotateToken.label"), parameter: "rotate", permission: "gateways:write" }],
  tasks: [{ title: t("app.palette.tasks.rotateGateway"), permission: "gateways:write" }],
  find: { path: "/tenants/gateways" },
  create: { title: t("gateways.create"), permission: "gateways:write" },
};
