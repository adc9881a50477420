/** The face of this feature: identity providers. */

export * from "./configured-providers.ts";
export { requireEveryPermission } from "./identity-providers.commands.ts";
export { issuerProblem } from "./issuer.rules.ts";
export { OpenIdSignIn } from "./provider-sign-in.ts";
