import * as operations from "@gatehouse/contract/operations/gateways.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./gateways.commands.ts";

export const gatewayRoutes: readonly Route[] = [
  route(operations.listGateways, commands.listGateways),
  route(operations.createGateway, commands.createGateway),
  route(operations.readGateway, commands.readGateway),
  route(operations.updateGateway, commands.updateGateway),
  route(operations.deleteGateway, commands.deleteGateway),
];
