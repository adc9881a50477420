import { MapPin } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";

export const addressPages: PageSet = {
  path: "addresses",
  title: "Addresses",
  icon: MapPin,
  section: "network",
  permission: "addresses:read",
  list: async () => (await import("./addresses.page.tsx")).AddressesListPage,
  detail: async () => (await import("./address.page.tsx")).AddressPage,
  create: { title: "Add an address", permission: "resources:write" },
};
