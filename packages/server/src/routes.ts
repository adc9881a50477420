/** The routes of all features. */
import { accessRoutes } from "./features/access/access.routes.ts";
import { accessTestRoutes } from "./features/access-tests/access-tests.routes.ts";
import { addressRoutes } from "./features/addresses/addresses.routes.ts";
import { admissionRuleRoutes } from "./features/admission-rules/admission-rules.routes.ts";
import { apiKeyRoutes } from "./features/api-keys/api-keys.routes.ts";
import { changeRoutes } from "./features/changes/changes.routes.ts";
import { configurationRoutes } from "./features/configuration/configuration.routes.ts";
import { deviceSessionRoutes } from "./features/devices/device-sessions.routes.ts";
import { deviceRoutes } from "./features/devices/devices.routes.ts";
import { domainRoutes } from "./features/domains/domains.routes.ts";
import { enrolmentRoutes } from "./features/enrolment/enrolment.routes.ts";
import { enrolmentKeyRoutes } from "./features/enrolment-keys/enrolment-keys.routes.ts";
import { enrolmentLinkRoutes } from "./features/enrolment-links/enrolment-links.routes.ts";
import { eventRoutes } from "./features/events/events.routes.ts";
import { gatewayRoutes } from "./features/gateways/gateways.routes.ts";
import { groupRoutes } from "./features/groups/groups.routes.ts";
import { identityProviderRoutes } from "./features/identity-providers/identity-providers.routes.ts";
import { myRoutes } from "./features/my/my.routes.ts";
import { passkeyRoutes } from "./features/passkeys/passkeys.routes.ts";
import { policyRoutes } from "./features/policies/policies.routes.ts";
import { previewRoutes } from "./features/previews/previews.routes.ts";
import { protocolRoutes } from "./features/protocols/protocols.routes.ts";
import { resourceRoutes } from "./features/resources/resources.routes.ts";
import { revertRoutes } from "./features/reverts/reverts.routes.ts";
import { roleRoutes } from "./features/roles/roles.routes.ts";
import { sessionRoutes } from "./features/sessions/sessions.routes.ts";
import { signInRoutes } from "./features/sign-in/sign-in.routes.ts";
import { tenantSettingsRoutes } from "./features/tenant-settings/tenant-settings.routes.ts";
import { tenantRoutes } from "./features/tenants/tenants.routes.ts";
import { userRoutes } from "./features/users/users.routes.ts";
import { viewRoutes } from "./features/views/views.routes.ts";
import { webhookRoutes } from "./features/webhooks/webhooks.routes.ts";
import type { Route } from "./http/route.ts";

export const routes: readonly Route[] = [
  ...accessRoutes,
  ...accessTestRoutes,
  ...userRoutes,
  ...groupRoutes,
  ...roleRoutes,
  ...deviceRoutes,
  ...deviceSessionRoutes,
  ...enrolmentRoutes,
  ...gatewayRoutes,
  ...resourceRoutes,
  ...addressRoutes,
  ...protocolRoutes,
  ...admissionRuleRoutes,
  ...policyRoutes,
  ...previewRoutes,
  ...changeRoutes,
  ...apiKeyRoutes,
  ...configurationRoutes,
  ...tenantSettingsRoutes,
  ...eventRoutes,
  ...revertRoutes,
  ...webhookRoutes,
  ...sessionRoutes,
  ...myRoutes,
  ...viewRoutes,
  ...passkeyRoutes,
  ...signInRoutes,
  ...enrolmentKeyRoutes,
  ...enrolmentLinkRoutes,
  ...identityProviderRoutes,
  ...domainRoutes,
  ...tenantRoutes,
];
