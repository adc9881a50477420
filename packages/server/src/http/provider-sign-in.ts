/** The interface of the routes of sign-ins at identity providers, which features/identity-providers implements. */

/** A request of a browser on its way to or from a provider. */
export interface ProviderVisit {
  readonly tenantId: string;
  readonly providerId: string;
  readonly requestId: string;
  readonly address: string;
  /** The address as it is counted: for IPv6, its /64. */
  readonly addressGroup: string;
  readonly userAgent: string | undefined;
}

export interface ProviderDeparture {
  /** The provider's page. */
  readonly url: string;
  /** The secrets that the browser holds, encrypted. */
  readonly ceremony: string;
}

export type ProviderReturn =
  | {
      readonly kind: "signed-in";
      readonly token: string;
      /** The page of the console that the person wanted to open. */
      readonly returnTo: string | undefined;
      /** The token for the sign-out at the provider, encrypted; undefined if a cookie cannot hold it. */
      readonly idToken: string | undefined;
    }
  /** The person of a session has proven to be present. */
  | { readonly kind: "confirmed" }
  /** A test, with lines for the administrator. */
  | { readonly kind: "tested"; readonly succeeded: boolean; readonly lines: readonly string[] }
  /** Too many returns are in progress. The browser can try again. */
  | { readonly kind: "busy" }
  /** The person learns nothing about the reason, except that a provider cannot be reached. */
  | { readonly kind: "refused"; readonly unreachable: boolean; readonly returnTo?: string | undefined };

/** Why a browser goes to the provider, other than to sign in. */
export interface DepartureReason {
  /** Permits a test. */
  readonly ticket?: string | undefined;
  /** The page of the console to which the browser returns. */
  readonly returnTo?: string | undefined;
  /** The session whose person proves to be present. */
  readonly session?: { readonly id: string; readonly userId: string } | undefined;
}

/** A sign-in that another site started. The person decides whether to continue. */
export interface SignInOffer {
  readonly tenantName: string;
  readonly providerName: string;
  /** The host of the provider, which is the only part that the tenant cannot choose freely. */
  readonly providerHost: string;
}

/** A provider that a sign-in page offers. */
export interface OfferedProvider {
  readonly name: string;
  /** The path at which the sign-in starts. */
  readonly path: string;
}

/** "busy" means that the tenant or the address has used up its share of requests to providers. */
export interface ProviderSignIn {
  /**
   * Finds the providers of a tenant.
   *
   * @param name the slug of the tenant, a domain that it has proven, or an address in the domain
   * @returns none if the tenant does not exist, or has no enabled provider
   */
  find(name: string): Promise<readonly OfferedProvider[]>;
  /** Describes a sign-in. @returns undefined if the provider does not exist or is disabled */
  offer(visit: ProviderVisit): Promise<SignInOffer | undefined>;
  /** @returns undefined if the provider does not exist or is disabled, or the ticket of a test is invalid */
  depart(
    visit: ProviderVisit,
    reason: DepartureReason,
  ): Promise<ProviderDeparture | "unreachable" | "busy" | undefined>;
  /** @param query the parameters of the provider, as received */
  arrive(visit: ProviderVisit, query: string, ceremony: string | undefined): Promise<ProviderReturn>;
  /** @returns the provider's page; undefined if it has none */
  signOut(visit: ProviderVisit, idToken: string | undefined): Promise<string | "unreachable" | "busy" | undefined>;
  /** Ends the sessions that a logout token of the provider names. */
  endSessions(visit: ProviderVisit, logoutToken: string): Promise<"ended" | "refused" | "unreachable" | "busy">;
}
