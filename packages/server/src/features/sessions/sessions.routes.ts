import * as operations from "@gatehouse/contract/operations/sign-in.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./sessions.commands.ts";

export const sessionRoutes: readonly Route[] = [
  route(operations.listSessions, commands.listSessions),
  route(operations.endSession, commands.endSession),
  route(operations.endUserSessions, commands.endUserSessionsOf),
];
