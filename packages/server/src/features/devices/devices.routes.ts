import * as operations from "@gatehouse/contract/operations/devices.operations";
import { type Route, route } from "../../http/route.ts";
import { readDeviceConfiguration } from "./device-configuration.commands.ts";
import { resetDeviceKey } from "./device-key.commands.ts";
import { rotateDeviceToken } from "./device-token.commands.ts";
import * as commands from "./devices.commands.ts";

export const deviceRoutes: readonly Route[] = [
  route(operations.listDevices, commands.listDevices),
  route(operations.readDevice, commands.readDevice),
  route(operations.deleteDevice, commands.deleteDevice),
  route(operations.deactivateDevice, commands.deactivateDevice),
  route(operations.reactivateDevice, commands.reactivateDevice),
  route(operations.replaceDevicePosture, commands.replaceDevicePosture),
  route(operations.replaceDeviceTags, commands.replaceDeviceTags),
  route(operations.rotateDeviceToken, rotateDeviceToken),
  route(operations.resetDeviceKey, resetDeviceKey),
  route(operations.readDeviceConfiguration, readDeviceConfiguration),
];
