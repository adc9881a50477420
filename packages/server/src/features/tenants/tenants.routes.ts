import * as operations from "@gatehouse/contract/operations/tenants.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./tenants.commands.ts";

export const tenantRoutes: readonly Route[] = [
  route(operations.createTenant, commands.createTenant),
  route(operations.listTenants, commands.listTenants),
  route(operations.readTenant, commands.readTenant),
  route(operations.deleteTenant, commands.deleteTenant),
];
