import * as operations from "@gatehouse/contract/operations/changes.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./changes.commands.ts";

export const changeRoutes: readonly Route[] = [route(operations.applyChanges, commands.applyChanges)];
