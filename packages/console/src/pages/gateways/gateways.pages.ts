import { Router } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";

export const gatewayPages: PageSet = {
  path: "gateways",
  title: "Gateways",
  icon: Router,
  section: "network",
  permission: "gateways:read",
  list: async () => (await import("./gateways.page.tsx")).GatewaysListPage,
  detail: async () => (await import("./gateway.page.tsx")).GatewayPage,
  find: { path: "/tenants/gateways" },
  create: { title: "Create a gateway", permission: "gateways:write" },
};
