import * as operations from "@gatehouse/contract/operations/configuration.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./configuration.commands.ts";

export const configurationRoutes: readonly Route[] = [
  route(operations.readConfiguration, commands.readConfiguration),
  route(operations.planConfiguration, commands.planConfiguration),
  route(operations.applyConfiguration, commands.applyConfiguration),
];
