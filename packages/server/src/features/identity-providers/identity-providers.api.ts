/** The face of this feature: identity providers. */
export { OpenIdSignIn } from "./provider-sign-in.ts";
