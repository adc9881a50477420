import * as operations from "@gatehouse/contract/operations/gateways.operations";
import { type Route, route } from "../../http/route.ts";
import * as state from "./gateway-state.commands.ts";
import * as commands from "./gateways.commands.ts";
import { readGatewaySettings, replaceGatewaySettings } from "./settings/gateway-settings.commands.ts";
import { rotateSigningKey } from "./signing-key.commands.ts";
import { readGatewaySync } from "./sync/gateway-sync.commands.ts";
import { resetGatewayKey } from "./tokens/gateway-key.commands.ts";
import { rotateGatewayToken } from "./tokens/gateway-token.commands.ts";

export const gatewayRoutes: readonly Route[] = [
  route(operations.listGateways, commands.listGateways),
  route(operations.createGateway, commands.createGateway),
  route(operations.readGateway, commands.readGateway),
  route(operations.updateGateway, commands.updateGateway),
  route(operations.deleteGateway, commands.deleteGateway),
  route(operations.readGatewaySettings, readGatewaySettings),
  route(operations.replaceGatewaySettings, replaceGatewaySettings),
  route(operations.enableGatewayRelay, state.enableGatewayRelay),
  route(operations.disableGatewayRelay, state.disableGatewayRelay),
  route(operations.enterGatewayMaintenance, state.enterGatewayMaintenance),
  route(operations.exitGatewayMaintenance, state.exitGatewayMaintenance),
  route(operations.rotateGatewayToken, rotateGatewayToken),
  route(operations.resetGatewayKey, resetGatewayKey),
  route(operations.rotateSigningKey, rotateSigningKey),
  route(operations.readGatewaySync, readGatewaySync),
  route(operations.testGatewayConfiguration, state.testGatewayConfiguration),
];
