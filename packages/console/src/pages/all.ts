/** Every page, in the order of the navigation. */
import type { PageSet } from "../app/page-set.ts";
import { accessPages } from "./access/access.pages.ts";
import { accessTestPages } from "./access-tests/access-tests.pages.ts";
import { addressPages } from "./addresses/addresses.pages.ts";
import { admissionRulePages } from "./admission-rules/admission-rules.pages.ts";
import { apiKeyPages } from "./api-keys/api-keys.pages.ts";
import { configurationPages } from "./configuration/configuration.pages.ts";
import { designPages } from "./design/design.pages.ts";
import { deviceApprovalPages } from "./device-approvals/device-approvals.pages.ts";
import { deviceSessionPages } from "./device-sessions/device-sessions.pages.ts";
import { devicePages } from "./devices/devices.pages.ts";
import { domainPages } from "./domains/domains.pages.ts";
import { enrolmentKeyPages } from "./enrolment-keys/enrolment-keys.pages.ts";
import { eventPages } from "./events/events.pages.ts";
import { gatewayPages } from "./gateways/gateways.pages.ts";
import { groupPages } from "./groups/groups.pages.ts";
import { guidePages } from "./guides/guides.pages.ts";
import { identityProviderPages } from "./identity-providers/identity-providers.pages.ts";
import { myPages } from "./my/my.pages.ts";
import { overviewPages } from "./overview/overview.pages.ts";
import { policyPages } from "./policies/policies.pages.ts";
import { protocolPages } from "./protocols/protocols.pages.ts";
import { publishPages } from "./publish/publish.pages.ts";
import { resourcePages } from "./resources/resources.pages.ts";
import { rolePages } from "./roles/roles.pages.ts";
import { settingsPages } from "./settings/settings.pages.ts";
import { signInPages } from "./sign-in/sign-in.pages.ts";
import { userPages } from "./users/users.pages.ts";
import { webhookPages } from "./webhooks/webhooks.pages.ts";

export const pageSets: readonly PageSet[] = [
  overviewPages,
  publishPages,
  userPages,
  groupPages,
  devicePages,
  deviceApprovalPages,
  deviceSessionPages,
  enrolmentKeyPages,
  gatewayPages,
  resourcePages,
  addressPages,
  protocolPages,
  accessPages,
  policyPages,
  admissionRulePages,
  accessTestPages,
  rolePages,
  apiKeyPages,
  identityProviderPages,
  domainPages,
  webhookPages,
  eventPages,
  signInPages,
  configurationPages,
  settingsPages,
  myPages,
  guidePages,
  designPages,
];
