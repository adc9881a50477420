import * as operations from "@gatehouse/contract/operations/addresses.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./addresses.commands.ts";

export const addressRoutes: readonly Route[] = [
  route(operations.listAddresses, commands.listAddresses),
  route(operations.readAddress, commands.readAddress),
  route(operations.updateAddress, commands.updateAddress),
  route(operations.deleteAddress, commands.deleteAddress),
  route(operations.listAddressGateways, commands.listAddressGateways),
];
