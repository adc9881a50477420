import * as operations from "@gatehouse/contract/operations/sign-in.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./sign-in.commands.ts";

export const signInRoutes: readonly Route[] = [route(operations.listSignIns, commands.listSignIns)];
