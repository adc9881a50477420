import * as operations from "@gatehouse/contract/operations/protocols.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./protocols.commands.ts";

export const protocolRoutes: readonly Route[] = [
  route(operations.createProtocol, commands.createProtocol),
  route(operations.listProtocols, commands.listProtocols),
  route(operations.readProtocol, commands.readProtocol),
  route(operations.deleteProtocol, commands.deleteProtocol),
];
