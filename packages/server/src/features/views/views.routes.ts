import * as operations from "@gatehouse/contract/operations/views.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./views.commands.ts";

export const viewRoutes: readonly Route[] = [
  route(operations.listViews, commands.listViews),
  route(operations.createView, commands.createView),
  route(operations.readView, commands.readView),
  route(operations.updateView, commands.updateView),
  route(operations.deleteView, commands.deleteView),
];
