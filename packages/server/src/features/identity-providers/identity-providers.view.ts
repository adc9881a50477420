import type { IdentityProvider } from "@gatehouse/contract/records/identity-provider";
import type { ProviderRow } from "./identity-providers.queries.ts";

/** The public address and the tenant, from which the addresses of a provider are made. */
export interface ProviderPlace {
  readonly publicUrl: string;
  readonly tenantId: string;
}

/**
 * The address of a provider's sign-in. Each provider has its own redirect URI, so that the answer of one provider
 * is never taken for the answer of another.
 */
export function signInUrl({ publicUrl, tenantId }: ProviderPlace, id: string): string {
  return `${publicUrl}/console/oidc/${tenantId}/${id}`;
}

export function redirectUri(place: ProviderPlace, id: string): string {
  return `${signInUrl(place, id)}/callback`;
}

/** The page to which providers send browsers after a sign-out. */
export function postLogoutRedirectUri({ publicUrl }: Pick<ProviderPlace, "publicUrl">): string {
  return `${publicUrl}/console/`;
}

export function providerView(row: ProviderRow, place: ProviderPlace): IdentityProvider {
  const { scopes, groupsClaim, firstSignIn, linkVerifiedEmail } = row.settings;
  return {
    id: row.id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    name: row.name,
    issuer: row.issuer,
    clientId: row.client_id,
    hasClientSecret: row.client_secret_ciphertext !== null,
    scopes: [...scopes],
    groupsClaim,
    firstSignIn,
    linkVerifiedEmail,
    enabled: row.enabled,
    testedAt: row.tested_at,
    redirectUri: redirectUri(place, row.id),
    signInUrl: signInUrl(place, row.id),
    backChannelLogoutUri: `${signInUrl(place, row.id)}/back-channel-logout`,
    postLogoutRedirectUri: postLogoutRedirectUri(place),
  };
}
