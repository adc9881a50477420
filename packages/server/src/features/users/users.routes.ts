import * as operations from "@gatehouse/contract/operations/users.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./users.commands.ts";

export const userRoutes: readonly Route[] = [
  route(operations.listUsers, commands.listUsers),
  route(operations.createUsers, commands.createUsers),
  route(operations.readUser, commands.readUser),
  route(operations.updateUserProfile, commands.updateUserProfile),
  route(operations.updateUserSettings, commands.updateUserSettings),
  route(operations.deleteUser, commands.deleteUser),
  route(operations.deactivateUser, commands.deactivateUser),
  route(operations.reactivateUser, commands.reactivateUser),
];
