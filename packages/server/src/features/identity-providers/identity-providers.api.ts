/** Public API of this feature: identity providers. */

export * from "./configured-providers.ts";
export { unauditedAccounts } from "./external-identities.queries.ts";
export { requireEveryPermission } from "./identity-providers.commands.ts";
export { listProviders } from "./identity-providers.queries.ts";
export { providerView } from "./identity-providers.view.ts";
export { issuerProblem } from "./issuer.rules.ts";
export { OpenIdSignIn } from "./provider-sign-in.ts";
