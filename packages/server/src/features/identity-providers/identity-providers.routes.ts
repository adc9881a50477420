import * as operations from "@gatehouse/contract/operations/identity-providers.operations";
import { type Route, route } from "../../http/route.ts";
import * as providers from "./identity-providers.commands.ts";

export const identityProviderRoutes: readonly Route[] = [
  route(operations.listIdentityProviders, providers.listIdentityProviders),
  route(operations.createIdentityProvider, providers.createIdentityProvider),
  route(operations.readIdentityProvider, providers.readIdentityProvider),
  route(operations.patchIdentityProvider, providers.patchIdentityProvider),
  route(operations.deleteIdentityProvider, providers.deleteIdentityProvider),
  route(operations.testIdentityProvider, providers.testIdentityProvider),
];
