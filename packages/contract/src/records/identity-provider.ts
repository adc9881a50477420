import Type, { type Static } from "typebox";
import { component, identity, Name, nullable, oneOf, Timestamp } from "../schema.ts";

/** The people who can sign in for the first time with an account that belongs to no user yet. */
export const firstSignIns = ["NEVER", "INVITED", "OWN_DOMAINS"] as const;
export type FirstSignIn = (typeof firstSignIns)[number];

export const Issuer = Type.String({
  minLength: 1,
  maxLength: 500,
  description:
    "URL of the provider: https, without user name, password, query or fragment. Plain http, and addresses that are not globally reachable, are allowed only in networks that the operator has configured.",
});
export const ClientId = Type.String({ minLength: 1, maxLength: 255, pattern: "^[\\x20-\\x7e]+$" });
export const ClientSecret = Type.String({
  minLength: 1,
  maxLength: 1000,
  pattern: "^[^\\u0000]+$",
  description: "Stored encrypted and never shown. Omit it for a public client.",
});
const Scope = Type.String({ minLength: 1, maxLength: 100, pattern: "^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$" });
export const Scopes = Type.Array(Scope, {
  maxItems: 20,
  uniqueItems: true,
  description: "`email` and `profile` if omitted.",
});
export const GroupsClaim = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: "^[^\\u0000]+$",
  description: "`groups` if omitted.",
});

/** Settings of a new provider that its request omits. */
export const defaultProviderSettings = {
  scopes: ["email", "profile"],
  groupsClaim: "groups",
  firstSignIn: "NEVER",
  linkVerifiedEmail: false,
} as const;

/** The number of identity providers per tenant. */
export const maxIdentityProviders = 20;

export const IdentityProvider = component(
  "IdentityProvider",
  "An OpenID Connect provider with which people sign in, without its client secret.",
  {
    ...identity,
    name: Name,
    issuer: Type.String({ description: "The issuer, exactly as the provider's metadata states it." }),
    clientId: Type.String(),
    hasClientSecret: Type.Boolean(),
    scopes: Type.Array(Type.String(), { description: "Scopes in addition to `openid`." }),
    groupsClaim: Type.String({ description: "The claim with the names of a person's groups." }),
    firstSignIn: oneOf(firstSignIns, {
      description:
        "The policy for accounts that belong to no user yet. `NEVER` refuses them. `INVITED` accepts invited people whose verified email address matches the invitation. `OWN_DOMAINS` also creates users for verified addresses in the tenant's verified domains.",
    }),
    linkVerifiedEmail: Type.Boolean({
      description:
        "Whether an account that belongs to no user yet is linked to the active user with the same verified email address. Enable it only for providers that verify addresses.",
    }),
    enabled: Type.Boolean({ description: "Whether people can sign in with the provider." }),
    testedAt: nullable(Timestamp),
    redirectUri: Type.String({ description: "The redirect URI to register at the provider." }),
    signInUrl: Type.String({ description: "The address at which people start to sign in with this provider." }),
    backChannelLogoutUri: Type.String({
      description: "The address at which the provider ends sessions (OpenID Connect Back-Channel Logout 1.0).",
    }),
    postLogoutRedirectUri: Type.String({
      description: "The address to which the provider sends people after they sign out there.",
    }),
  },
);
export type IdentityProvider = Static<typeof IdentityProvider>;
