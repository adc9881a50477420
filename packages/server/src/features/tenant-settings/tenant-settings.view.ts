import type { TenantSettings } from "@gatehouse/contract/records/tenant-settings";

export function tenantSettingsView(row: TenantSettings): TenantSettings {
  const {
    configurationLifetime,
    sessionLifetime,
    sessionIdleTime,
    singleSignOnOnly,
    deviceApproval,
    deviceSessionLifetime,
  } = row;
  return {
    configurationLifetime,
    sessionLifetime,
    sessionIdleTime,
    singleSignOnOnly,
    deviceApproval,
    deviceSessionLifetime,
  };
}
