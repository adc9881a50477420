import * as operations from "@gatehouse/contract/operations/groups.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./groups.commands.ts";

export const groupRoutes: readonly Route[] = [
  route(operations.listGroups, commands.listGroups),
  route(operations.createGroup, commands.createGroup),
  route(operations.readGroup, commands.readGroup),
  route(operations.updateGroup, commands.updateGroup),
  route(operations.deleteGroup, commands.deleteGroup),
];
