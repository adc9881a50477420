/** The operations that previews and change sets can include. Tests compare both lists with all operations. */
import { isAllowedInSet, isPreviewable, type Operation } from "../operation.ts";
import * as accessTests from "./access-tests.operations.ts";
import * as addresses from "./addresses.operations.ts";
import * as admissionRules from "./admission-rules.operations.ts";
import * as apiKeys from "./api-keys.operations.ts";
import * as configuration from "./configuration.operations.ts";
import * as deviceSessions from "./device-sessions.operations.ts";
import * as devices from "./devices.operations.ts";
import * as gateways from "./gateways.operations.ts";
import * as groups from "./groups.operations.ts";
import * as identityProviders from "./identity-providers.operations.ts";
import * as policies from "./policies.operations.ts";
import * as protocols from "./protocols.operations.ts";
import * as resources from "./resources.operations.ts";
import * as signIn from "./sign-in.operations.ts";
import * as tenantSettings from "./tenant-settings.operations.ts";
import * as users from "./users.operations.ts";
import * as webhooks from "./webhooks.operations.ts";

const families = [
  policies,
  accessTests,
  users,
  groups,
  devices,
  deviceSessions,
  gateways,
  resources,
  addresses,
  protocols,
  admissionRules,
  apiKeys,
  configuration,
  identityProviders,
  signIn,
  tenantSettings,
  webhooks,
];

const operations = families
  .flatMap((family) => Object.values<unknown>(family))
  .filter((value): value is Operation => typeof value === "object" && value !== null && "method" in value);

/** Every operation that a change set can include. */
export const setOperations: readonly Operation[] = operations.filter(isAllowedInSet);

/** Every operation that a preview can include. */
export const previewableOperations: readonly Operation[] = operations.filter(isPreviewable);
