import * as operations from "@gatehouse/contract/operations/sign-in.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./passkeys.commands.ts";

export const passkeyRoutes: readonly Route[] = [
  route(operations.listPasskeys, commands.listPasskeys),
  route(operations.renamePasskey, commands.renamePasskey),
  route(operations.deletePasskey, commands.deletePasskey),
  route(operations.resetPasskeys, commands.resetPasskeys),
];
