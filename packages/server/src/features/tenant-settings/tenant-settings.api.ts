/** Public API of this feature: settings that apply to a tenant as a whole. */
export { changeTenantSettings } from "./change-tenant-settings.ts";
export { readConfigurationLifeMs, readTenantSettings } from "./tenant-settings.queries.ts";
export { tenantSettingsView } from "./tenant-settings.view.ts";
