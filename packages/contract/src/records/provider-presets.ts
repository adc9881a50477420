/** Settings of common identity providers. An issuer contains a placeholder in capitals where installations differ. */
export interface ProviderPreset {
  readonly title: string;
  readonly issuer: string;
  /** The part of the issuer to replace; absent if the issuer is the same for everyone. */
  readonly placeholder?: string;
  readonly scopes: readonly string[];
  readonly groupsClaim: string;
}

export const providerPresetNames = ["entra", "okta", "google", "keycloak", "authentik"] as const;
export type ProviderPresetName = (typeof providerPresetNames)[number];

export const providerPresets: Readonly<Record<ProviderPresetName, ProviderPreset>> = {
  entra: {
    title: "Microsoft Entra ID",
    issuer: "https://login.microsoftonline.com/TENANT-ID/v2.0",
    placeholder: "TENANT-ID",
    scopes: ["email", "profile"],
    groupsClaim: "groups",
  },
  okta: {
    title: "Okta",
    issuer: "https://EXAMPLE.okta.com",
    placeholder: "EXAMPLE",
    scopes: ["email", "profile", "groups"],
    groupsClaim: "groups",
  },
  google: {
    title: "Google",
    issuer: "https://accounts.google.com",
    scopes: ["email", "profile"],
    groupsClaim: "groups",
  },
  keycloak: {
    title: "Keycloak",
    issuer: "https://KEYCLOAK-HOST/realms/REALM",
    placeholder: "KEYCLOAK-HOST/realms/REALM",
    scopes: ["email", "profile"],
    groupsClaim: "groups",
  },
  authentik: {
    title: "Authentik",
    issuer: "https://AUTHENTIK-HOST/application/o/APPLICATION/",
    placeholder: "AUTHENTIK-HOST/application/o/APPLICATION",
    scopes: ["email", "profile"],
    groupsClaim: "groups",
  },
};

/** The preset whose placeholder is still in the issuer; undefined if none is. */
export function unfilledPlaceholder(issuer: string): string | undefined {
  return Object.values(providerPresets)
    .map(({ placeholder }) => placeholder)
    .find((placeholder) => placeholder !== undefined && issuer.includes(placeholder));
}
