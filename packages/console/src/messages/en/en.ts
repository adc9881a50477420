/** The English catalogue: one file for each area of the console. */
import { access } from "./access.ts";
import { accessTests } from "./access-tests.ts";
import { addresses } from "./addresses.ts";
import { admissionRules } from "./admission-rules.ts";
import { apiKeys } from "./api-keys.ts";
import { app } from "./app.ts";
import { common } from "./common.ts";
import { configuration } from "./configuration.ts";
import { design } from "./design.ts";
import { deviceSessions } from "./device-sessions.ts";
import { devices } from "./devices.ts";
import { domains } from "./domains.ts";
import { enrolmentKeys } from "./enrolment-keys.ts";
import { enrolmentLinks } from "./enrolment-links.ts";
import { events } from "./events.ts";
import { gateways } from "./gateways.ts";
import { graph } from "./graph.ts";
import { groups } from "./groups.ts";
import { guides } from "./guides.ts";
import { identityProviders } from "./identity-providers.ts";
import { lists } from "./lists.ts";
import { my } from "./my.ts";
import { overview } from "./overview.ts";
import { policies } from "./policies.ts";
import { protocols } from "./protocols.ts";
import { publish } from "./publish.ts";
import { records } from "./records.ts";
import { resources } from "./resources.ts";
import { roles } from "./roles.ts";
import { settings } from "./settings.ts";
import { signIn } from "./sign-in.ts";
import { users } from "./users.ts";
import { webhooks } from "./webhooks.ts";

export const en = {
  access,
  accessTests,
  addresses,
  admissionRules,
  apiKeys,
  app,
  common,
  configuration,
  design,
  devices,
  deviceSessions,
  domains,
  enrolmentKeys,
  enrolmentLinks,
  events,
  gateways,
  graph,
  groups,
  guides,
  identityProviders,
  lists,
  my,
  overview,
  policies,
  protocols,
  publish,
  records,
  resources,
  roles,
  settings,
  signIn,
  users,
  webhooks,
} as const;
