import * as operations from "@gatehouse/contract/operations/access.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./access.commands.ts";

export const accessRoutes: readonly Route[] = [
  route(operations.evaluateAccess, commands.evaluateAccess),
  route(operations.evaluateAccessBatch, commands.evaluateAccessBatch),
  route(operations.searchSubjects, commands.searchSubjects),
  route(operations.searchResources, commands.searchResources),
  route(operations.searchActions, commands.searchActions),
];
