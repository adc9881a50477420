import * as operations from "@gatehouse/contract/operations/events.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./events.commands.ts";

export const eventRoutes: readonly Route[] = [
  route(operations.listEvents, commands.listEvents),
  route(operations.exportEvents, commands.exportEvents),
  route(operations.streamEvents, commands.streamEvents),
  route(operations.readSigningKey, commands.readSigningKey),
];
