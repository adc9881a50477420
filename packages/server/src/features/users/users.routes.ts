import * as roles from "@gatehouse/contract/operations/groups.operations";
import * as operations from "@gatehouse/contract/operations/users.operations";
import { type Route, route } from "../../http/route.ts";
import * as userGroups from "./memberships/user-groups.commands.ts";
import * as ownership from "./roles/ownership.commands.ts";
import * as roleHolders from "./roles/role-holders.commands.ts";
import * as userRoles from "./roles/user-roles.commands.ts";
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
  route(operations.inviteUser, commands.inviteUser),
  route(operations.transferOwnership, ownership.transferOwnership),
  route(operations.listUserRoles, userRoles.listUserRoles),
  route(operations.updateUserRoles, userRoles.updateUserRoles),
  route(operations.addUserToGroup, userGroups.addUserToGroup),
  route(operations.updateUserGroups, userGroups.updateUserGroups),
  route(operations.removeUserFromGroup, userGroups.removeUserFromGroup),
  route(roles.listRoleUsers, roleHolders.listRoleUsers),
  route(roles.removeRoleFromUser, roleHolders.removeRoleFromUser),
];
