import * as operations from "@gatehouse/contract/operations/reverts.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./reverts.commands.ts";

export const revertRoutes: readonly Route[] = [route(operations.revertEvent, commands.revertEvent)];
