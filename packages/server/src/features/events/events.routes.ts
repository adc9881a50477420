import { listEvents } from "@gatehouse/contract/operations/events.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./events.commands.ts";

export const eventRoutes: readonly Route[] = [route(listEvents, commands.listEvents)];
