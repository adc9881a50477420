import * as operations from "@gatehouse/contract/operations/access-tests.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./access-tests.commands.ts";
import { checkAccessTests } from "./check-access-tests.ts";

export const accessTestRoutes: readonly Route[] = [
  route(operations.listAccessTests, commands.listAccessTests),
  route(operations.createAccessTest, commands.createAccessTest),
  route(operations.readAccessTest, commands.readAccessTest),
  route(operations.updateAccessTest, commands.updateAccessTest),
  route(operations.deleteAccessTest, commands.deleteAccessTest),
  route(operations.checkAccessTests, checkAccessTests),
];
