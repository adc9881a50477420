import * as operations from "@gatehouse/contract/operations/domains.operations";
import { type Route, route } from "../../http/route.ts";
import * as domains from "./domains.commands.ts";

export const domainRoutes: readonly Route[] = [
  route(operations.listDomains, domains.listDomains),
  route(operations.createDomain, domains.createDomain),
  route(operations.readDomain, domains.readDomain),
  route(operations.verifyDomain, domains.verifyDomain),
  route(operations.deleteDomain, domains.deleteDomain),
];
