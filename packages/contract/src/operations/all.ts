/** Every operation of the API. */
import type { Operation } from "../operation.ts";
import * as access from "./access.operations.ts";
import * as accessTests from "./access-tests.operations.ts";
import * as addresses from "./addresses.operations.ts";
import * as admissionRules from "./admission-rules.operations.ts";
import * as apiKeys from "./api-keys.operations.ts";
import * as changes from "./changes.operations.ts";
import * as configuration from "./configuration.operations.ts";
import * as deviceSessions from "./device-sessions.operations.ts";
import * as devices from "./devices.operations.ts";
import * as domains from "./domains.operations.ts";
import * as enrolmentKeys from "./enrolment-keys.operations.ts";
import * as enrolmentLinks from "./enrolment-links.operations.ts";
import * as events from "./events.operations.ts";
import * as gateways from "./gateways.operations.ts";
import * as groups from "./groups.operations.ts";
import * as identityProviders from "./identity-providers.operations.ts";
import * as my from "./my.operations.ts";
import * as policies from "./policies.operations.ts";
import * as previews from "./previews.operations.ts";
import * as protocols from "./protocols.operations.ts";
import * as resources from "./resources.operations.ts";
import * as reverts from "./reverts.operations.ts";
import * as signIn from "./sign-in.operations.ts";
import * as tenantSettings from "./tenant-settings.operations.ts";
import * as tenants from "./tenants.operations.ts";
import * as users from "./users.operations.ts";
import * as views from "./views.operations.ts";
import * as webhooks from "./webhooks.operations.ts";

const families = [
  policies,
  previews,
  changes,
  access,
  accessTests,
  users,
  groups,
  devices,
  deviceSessions,
  enrolmentKeys,
  gateways,
  resources,
  addresses,
  protocols,
  admissionRules,
  apiKeys,
  configuration,
  tenantSettings,
  events,
  reverts,
  webhooks,
  signIn,
  my,
  views,
  enrolmentLinks,
  identityProviders,
  domains,
  tenants,
];

function isOperation(value: unknown): value is Operation {
  return typeof value === "object" && value !== null && "id" in value && "method" in value && "path" in value;
}

export const operations: readonly Operation[] = families.flatMap((family) =>
  Object.values<unknown>(family).filter(isOperation),
);
