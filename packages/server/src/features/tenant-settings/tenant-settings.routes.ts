import * as operations from "@gatehouse/contract/operations/tenant-settings.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./tenant-settings.commands.ts";

export const tenantSettingsRoutes: readonly Route[] = [
  route(operations.readTenantSettings, commands.readTenantSettings),
  route(operations.replaceTenantSettings, commands.replaceTenantSettings),
];
