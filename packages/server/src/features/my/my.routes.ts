import * as operations from "@gatehouse/contract/operations/my.operations";
import { type Route, route } from "../../http/route.ts";
import * as access from "./my-access.commands.ts";
import * as apps from "./my-apps.commands.ts";
import * as devices from "./my-devices.commands.ts";

export const myRoutes: readonly Route[] = [
  route(operations.readMyself, devices.readMyself),
  route(operations.listMyDevices, devices.listMyDevices),
  route(operations.readMyDevice, devices.readMyDevice),
  route(operations.createMyKeyChallenge, apps.createMyKeyChallenge),
  route(operations.addMyDevice, apps.addMyDevice),
  route(operations.signInMyDevice, apps.signInMyDevice),
  route(operations.readMyDeviceConfiguration, apps.readMyDeviceConfiguration),
  route(operations.renameMyDevice, devices.renameMyDevice),
  route(operations.removeMyDevice, devices.removeMyDevice),
  route(operations.listMyAccess, access.listMyAccess),
  route(operations.explainMyAccess, access.explainMyAccess),
];
