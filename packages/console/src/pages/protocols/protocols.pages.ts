import { Network } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";

export const protocolPages: PageSet = {
  path: "protocols",
  title: "Protocols",
  icon: Network,
  section: "network",
  permission: "protocols:read",
  list: async () => (await import("./protocols.page.tsx")).ProtocolsListPage,
  detail: async () => (await import("./protocol.page.tsx")).ProtocolPage,
  create: { title: "Create a protocol", permission: "protocols:write" },
  find: { path: "/tenants/protocols" },
};
