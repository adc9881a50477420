/**
 * The table of cases: one for each operation of the contract. `coverage.test.ts` fails for operations without a case.
 */
import type { Operation } from "@gatehouse/contract/operation";
import { accessCases } from "./access.cases.ts";
import { accessTestCases } from "./access-tests.cases.ts";
import { administrationCases } from "./administration.cases.ts";
import { changeCases } from "./changes.cases.ts";
import { configurationCases } from "./configuration.cases.ts";
import { deviceSessionCases } from "./device-sessions.cases.ts";
import { domainCases } from "./domains.cases.ts";
import { identityProviderCases } from "./identity-providers.cases.ts";
import { myCases } from "./my.cases.ts";
import { networkCases } from "./network.cases.ts";
import type { OperationCase } from "./operation-case.ts";
import { peopleCases } from "./people.cases.ts";
import { policyCases } from "./policies.cases.ts";
import { previewCases } from "./previews.cases.ts";
import { revertCases } from "./reverts.cases.ts";
import { signInCases } from "./sign-in.cases.ts";
import { webhookCases } from "./webhooks.cases.ts";

export const operationCases: readonly OperationCase[] = [
  ...peopleCases,
  ...networkCases,
  ...policyCases,
  ...previewCases,
  ...changeCases,
  ...accessCases,
  ...accessTestCases,
  ...administrationCases,
  ...configurationCases,
  ...revertCases,
  ...signInCases,
  ...deviceSessionCases,
  ...myCases,
  ...webhookCases,
  ...identityProviderCases,
  ...domainCases,
];

/** All cases with the operation's id, from which `describe.each` names its groups. */
export const namedCases = operationCases.map((known) => ({ id: known.operation.id, ...known }));

/** The cases of operations that change something. */
export const writeCases = namedCases.filter(({ operation }) => operation.method !== "GET");

/** Whether an operation acts on a record of a tenant whose id is in the path. */
export function actsOnRecord({ parameters }: Operation): boolean {
  return Object.keys(parameters ?? {}).length > 0;
}

/** Whether an operation rejects unknown fields: all do, except those that a standard makes open. */
export function refusesUnknownFields({ body }: Operation): boolean {
  return body === undefined || !("additionalProperties" in body) || body.additionalProperties !== true;
}
