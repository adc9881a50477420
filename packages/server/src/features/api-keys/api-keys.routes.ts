import * as operations from "@gatehouse/contract/operations/api-keys.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./api-keys.commands.ts";

export const apiKeyRoutes: readonly Route[] = [
  route(operations.listApiKeys, commands.listApiKeys),
  route(operations.createApiKey, commands.createApiKey),
  route(operations.readApiKey, commands.readApiKey),
  route(operations.deleteApiKey, commands.deleteApiKey),
  route(operations.listApiKeysOfUser, commands.listApiKeysOfUser),
  route(operations.deleteApiKeysOfUser, commands.deleteApiKeysOfUser),
  route(operations.rotateApiKey, commands.rotateApiKey),
];
