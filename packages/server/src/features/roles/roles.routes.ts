import * as operations from "@gatehouse/contract/operations/groups.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./roles.commands.ts";

export const roleRoutes: readonly Route[] = [
  route(operations.listRoles, commands.listRoles),
  route(operations.readRole, commands.readRole),
];
