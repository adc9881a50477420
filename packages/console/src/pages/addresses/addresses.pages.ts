import { MapPin } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const addressPages: PageSet = {
  path: "addresses",
  title: t("addresses.title"),
  icon: MapPin,
  section: "network",
  permission: "addresses:read",
  list: async () => (await import("./addresses.page.tsx")).AddressesListPage,
  detail: async () => (await import("./address.page.tsx")).AddressPage,
  create: { title: t("addresses.add"), permission: "resources:write" },
  find: { path: "/tenants/addresses", by: "address" },
};
