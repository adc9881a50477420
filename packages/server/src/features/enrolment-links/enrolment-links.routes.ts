import * as operations from "@gatehouse/contract/operations/enrolment-links.operations";
import { type Route, route } from "../../http/route.ts";
import * as commands from "./enrolment-links.commands.ts";

export const enrolmentLinkRoutes: readonly Route[] = [
  route(operations.createEnrolmentLink, commands.createEnrolmentLink),
  route(operations.listEnrolmentLinks, commands.listEnrolmentLinks),
  route(operations.deleteEnrolmentLink, commands.deleteEnrolmentLink),
];
