/** Every feature's routes. */
import { apiKeyRoutes } from "./features/api-keys/api-keys.routes.ts";
import { protocolRoutes } from "./features/protocols/protocols.routes.ts";
import { resourceRoutes } from "./features/resources/resources.routes.ts";
import { tenantRoutes } from "./features/tenants/tenants.routes.ts";
import type { Route } from "./http/route.ts";

export const routes: readonly Route[] = [...resourceRoutes, ...protocolRoutes, ...apiKeyRoutes, ...tenantRoutes];
