import * as operations from "@gatehouse/contract/operations/enrolment-keys.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./enrolment-keys.commands.ts";

export const enrolmentKeyRoutes: readonly Route[] = [
  route(operations.listEnrolmentKeys, commands.listEnrolmentKeys),
  route(operations.createEnrolmentKey, commands.createEnrolmentKey),
  route(operations.readEnrolmentKey, commands.readEnrolmentKey),
  route(operations.updateEnrolmentKey, commands.updateEnrolmentKey),
  route(operations.revokeEnrolmentKey, commands.revokeEnrolmentKey),
  route(operations.deleteEnrolmentKey, commands.deleteEnrolmentKey),
];
