import { MonitorSmartphone } from "lucide-react";
import type { PageSet } from "../../app/page-set.ts";
import { t } from "../../messages/i18n.ts";

export const devicePages: PageSet = {
  path: "devices",
  title: t("devices.title"),
  icon: MonitorSmartphone,
  section: "people",
  permission: "devices:read",
  list: async () => (await import("./devices.page.tsx")).DevicesListPage,
  detail: async () => (await import("./device.page.tsx")).DevicePage,
  create: { title: t("devices.add.label"), permission: "users:write" },
  actions: [{ title: t("devices.deactivate.label"), parameter: "deactivate", permission: "devices:write" }],
  tasks: [
    { title: t("app.palette.tasks.deactivateDevice"), permission: "devices:write" },
    { title: t("app.palette.tasks.rotateDevice"), permission: "devices:write" },
  ],
  find: { path: "/tenants/devices", field: "name" },
};
