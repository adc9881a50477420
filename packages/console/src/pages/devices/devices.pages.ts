import { Laptop } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";

export const devicePages: PageSet = {
  path: "devices",
  title: "Devices",
  icon: Laptop,
  section: "people",
  permission: "devices:read",
  list: async () => (await import("./devices.page.tsx")).DevicesListPage,
  detail: async () => (await import("./device.page.tsx")).DevicePage,
  find: { path: "/tenants/devices", field: "name" },
};
