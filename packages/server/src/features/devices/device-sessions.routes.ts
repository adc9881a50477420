import * as operations from "@gatehouse/contract/operations/device-sessions.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./device-sessions.commands.ts";

export const deviceSessionRoutes: readonly Route[] = [
  route(operations.listDeviceSessions, commands.listDeviceSessions),
  route(operations.endDeviceSession, commands.endDeviceSession),
  route(operations.requireSignIn, commands.requireSignIn),
];
