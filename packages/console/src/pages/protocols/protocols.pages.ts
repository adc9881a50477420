import { Network } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const protocolPages: PageSet = {
  path: "protocols",
  title: t("protocols.title"),
  icon: Network,
  section: "network",
  permission: "protocols:read",
  list: async () => (await import("./protocols.page.tsx")).ProtocolsListPage,
  detail: async () => (await import("./protocol.page.tsx")).ProtocolPage,
  create: { title: t("protocols.create"), permission: "protocols:write" },
  find: { path: "/tenants/protocols" },
};
