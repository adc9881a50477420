import * as operations from "@gatehouse/contract/operations/policies.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./policies.commands.ts";
import { reorderPolicies } from "./policy-order.commands.ts";

export const policyRoutes: readonly Route[] = [
  route(operations.createPolicy, commands.createPolicy),
  route(operations.listPolicies, commands.listPolicies),
  route(operations.readPolicy, commands.readPolicy),
  route(operations.updatePolicy, commands.updatePolicy),
  route(operations.deletePolicy, commands.deletePolicy),
  route(operations.deactivatePolicy, commands.deactivatePolicy),
  route(operations.reactivatePolicy, commands.reactivatePolicy),
  route(operations.reorderPolicies, reorderPolicies),
];
