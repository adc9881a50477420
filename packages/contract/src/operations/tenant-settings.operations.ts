import { operation } from "../operation.ts";
import { NewTenantSettings, TenantSettings } from "../records/tenant-settings.ts";

const tag = "Settings";

export const readTenantSettings = operation({
  id: "readTenantSettings",
  method: "GET",
  path: "/tenants/settings",
  tag,
  summary: "Read the tenant's settings",
  access: "settings:read",
  success: { status: 200, kind: "record", body: TenantSettings },
});

export const replaceTenantSettings = operation({
  id: "replaceTenantSettings",
  method: "PUT",
  path: "/tenants/settings",
  tag,
  summary: "Update the tenant's settings",
  description:
    "Omitted fields stay unchanged. A change of `deviceSessionLifetime` changes when the sessions of devices end, and takes effect at once. A change of `configurationLifetime` sends new configurations to all connected gateways and devices. `singleSignOnOnly` requires an enabled identity provider, and a recovery code or an account at an enabled provider for the owner.",
  access: "settings:write",
  dangerous: "it decides how people sign in and how long devices are trusted",
  changesAccess: true,
  conditional: true,
  body: NewTenantSettings,
  success: { status: 200, kind: "record", body: TenantSettings },
  errors: ["last_way_in"],
});
