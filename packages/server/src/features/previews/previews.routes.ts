import * as operations from "@gatehouse/contract/operations/previews.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./previews.commands.ts";

export const previewRoutes: readonly Route[] = [route(operations.previewAccess, commands.previewAccess)];
