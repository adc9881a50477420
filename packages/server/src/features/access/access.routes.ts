import * as operations from "@gatehouse/contract/operations/access.operations";
import { readEventEffect as eventEffect } from "@gatehouse/contract/operations/events.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./decide/access.commands.ts";
import { listPastAccess, readAccessHistory } from "./decide/past-access.commands.ts";
import { findAccessFindings } from "./findings/findings.commands.ts";
import { readEventEffect } from "./impact/effects.commands.ts";

export const accessRoutes: readonly Route[] = [
  route(operations.evaluateAccess, commands.evaluateAccess),
  route(operations.evaluateAccessBatch, commands.evaluateAccessBatch),
  route(operations.searchSubjects, commands.searchSubjects),
  route(operations.searchResources, commands.searchResources),
  route(operations.searchActions, commands.searchActions),
  route(operations.listPastAccess, listPastAccess),
  route(operations.readAccessHistory, readAccessHistory),
  route(operations.findAccessFindings, findAccessFindings),
  route(eventEffect, readEventEffect),
];
