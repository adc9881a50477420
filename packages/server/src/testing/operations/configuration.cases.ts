import * as configuration from "@gatehouse/contract/operations/configuration.operations";
import * as tenantSettings from "@gatehouse/contract/operations/tenant-settings.operations";
import type { Actors, OperationCase } from "./operation-case.ts";
import { nothing } from "./operation-case.ts";
import { unique } from "./test-records.ts";

/** The current configuration of the tenant with one additional admission rule. */
async function withAnotherRule({ tenant }: Actors) {
  const { body } = await tenant.client.get("/tenants/configuration");
  const admissionRules = [...body.admissionRules, { name: unique("Rule"), rule: "device.os == 'Linux'" }];
  return { body: { version: 1, admissionRules } };
}

/** A lifetime of configurations that differs from the current one. */
async function anotherLifetime({ tenant }: Actors) {
  const { body } = await tenant.client.get("/tenants/settings");
  return { body: { configurationLifetime: body.configurationLifetime === 3_600 ? 7_200 : 3_600 } };
}

export const configurationCases: readonly OperationCase[] = [
  { operation: configuration.readConfiguration, prepare: nothing },
  { operation: configuration.planConfiguration, prepare: withAnotherRule },
  { operation: configuration.applyConfiguration, prepare: withAnotherRule },
  { operation: tenantSettings.readTenantSettings, prepare: nothing },
  {
    operation: tenantSettings.replaceTenantSettings,
    prepare: anotherLifetime,
    // No identity provider is enabled.
    conflict: async () => ({ body: { singleSignOnOnly: true } }),
  },
];
