import * as operations from "@gatehouse/contract/operations/resources.operations";
import { type Route, route } from "../../http/route.ts";
import * as parts from "./resource-parts.commands.ts";
import * as commands from "./resources.commands.ts";

export const resourceRoutes: readonly Route[] = [
  route(operations.listResources, commands.listResources),
  route(operations.createResource, commands.createResource),
  route(operations.readResource, commands.readResource),
  route(operations.updateResource, commands.updateResource),
  route(operations.deleteResource, commands.deleteResource),
  route(operations.configureLoadBalancing, commands.configureLoadBalancing),
  route(operations.addResourceAddress, parts.addResourceAddress),
  route(operations.removeResourceAddress, parts.removeResourceAddress),
  route(operations.connectGateway, parts.connectGateway),
  route(operations.disconnectGateway, parts.disconnectGateway),
];
