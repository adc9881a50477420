import * as operations from "@gatehouse/contract/operations/admission-rules.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./admission-rules.commands.ts";

export const admissionRuleRoutes: readonly Route[] = [
  route(operations.listAdmissionRules, commands.listAdmissionRules),
  route(operations.createAdmissionRule, commands.createAdmissionRule),
  route(operations.readAdmissionRule, commands.readAdmissionRule),
  route(operations.updateAdmissionRule, commands.updateAdmissionRule),
  route(operations.deleteAdmissionRule, commands.deleteAdmissionRule),
  route(operations.checkAdmissionRule, commands.checkAdmissionRule),
];
