import * as configuration from "@gatehouse/contract/operations/configuration.operations";
import type { Actors, OperationCase } from "./operation-case.ts";
import { nothing } from "./operation-case.ts";
import { unique } from "./test-records.ts";

/** The current configuration of the tenant with one additional admission rule. */
async function withAnotherRule({ tenant }: Actors) {
  const { body } = await tenant.client.get("/tenants/configuration");
  const admissionRules = [...body.admissionRules, { name: unique("Rule"), rule: "device.os == 'Linux'" }];
  return { body: { version: 1, admissionRules } };
}

export const configurationCases: readonly OperationCase[] = [
  { operation: configuration.readConfiguration, prepare: nothing },
  { operation: configuration.planConfiguration, prepare: withAnotherRule },
  { operation: configuration.applyConfiguration, prepare: withAnotherRule },
];
