/** Sign-ins that are under way: the browser holds their secrets, encrypted, until it returns from the provider. */
import { createHash } from "node:crypto";
import type { SecretBox } from "../../platform/secrets/master-key.ts";
import type { SignInSecrets } from "./relying-party.ts";

/** How long a person has at the provider, and to open the address of a test, in milliseconds. */
const validForMs = 10 * 60_000;

/**
 * A test sign-in proves the provider's settings and signs nobody in. A confirmation proves that the person of a session
 * is present.
 */
export type CeremonyPurpose = "sign-in" | "test" | "confirmation";

export interface ProviderCeremony {
  readonly purpose: CeremonyPurpose;
  readonly secrets: SignInSecrets;
  /** The page of the console to which the browser returns. */
  readonly returnTo?: string | undefined;
  /** The session whose person confirms their identity; undefined for other purposes. */
  readonly session?: { readonly id: string; readonly userId: string } | undefined;
}

/** The provider of a ceremony. */
export interface CeremonyProvider {
  readonly tenantId: string;
  readonly providerId: string;
  /** A ceremony belongs to one version of the settings. */
  readonly version: number;
}

interface Sealed {
  readonly version: number;
  readonly expiresAt: number;
}

/** Permits one test of a provider, for the person who opens its address. */
export function sealTestTicket(box: SecretBox, provider: CeremonyProvider, now: Date): string {
  return seal(box, "oidc-test", provider, now, {});
}

export function isTestTicket(box: SecretBox, provider: CeremonyProvider, now: Date, text: string): boolean {
  return open(box, "oidc-test", provider, now, text) !== undefined;
}

/** @returns the text that the browser holds */
export function sealSignIn(box: SecretBox, provider: CeremonyProvider, now: Date, ceremony: ProviderCeremony): string {
  return seal(box, "oidc-sign-in", provider, now, ceremony);
}

/** A ceremony that a browser has brought back. It can be finished once. */
export interface OpenedCeremony extends ProviderCeremony {
  readonly expiresAt: number;
}

/** @returns undefined for a text that is changed, expired, or of another provider or version */
export function openSignIn(
  box: SecretBox,
  provider: CeremonyProvider,
  now: Date,
  text: string,
): OpenedCeremony | undefined {
  const content = open(box, "oidc-sign-in", provider, now, text);
  // Encrypted by sealSignIn, so its form is known.
  return content as (Sealed & ProviderCeremony) | undefined;
}

/** The hash under which a finished ceremony is stored. */
export function ceremonyHash({ secrets: { state } }: ProviderCeremony): Buffer {
  return createHash("sha256").update(`oidc:${state}`).digest();
}

/** How long a browser keeps the ID token for a sign-out, in milliseconds: as long as the longest session. */
const idTokenForMs = 30 * 24 * 60 * 60_000;
/** Browsers store at most 4,096 bytes, with name and attributes. Longer tokens are not kept. */
const maxKeptLength = 3_600;

/** Seals the ID token for the browser. @returns undefined if a cookie cannot hold it */
export function sealIdToken(box: SecretBox, provider: KeptProvider, now: Date, idToken: string): string | undefined {
  const content = JSON.stringify({ idToken, expiresAt: now.getTime() + idTokenForMs });
  const sealed = box.seal(content, contextOf("oidc-id-token", provider)).toString("base64url");
  return sealed.length > maxKeptLength ? undefined : sealed;
}

/** @returns undefined for a text that is changed, expired, or of another provider */
export function openIdToken(box: SecretBox, provider: KeptProvider, now: Date, text: string): string | undefined {
  try {
    const content = box.open(Buffer.from(text, "base64url"), contextOf("oidc-id-token", provider));
    const { idToken, expiresAt } = JSON.parse(content) as { readonly idToken: string; readonly expiresAt: number }; // as sealed
    return expiresAt > now.getTime() ? idToken : undefined;
  } catch {
    return undefined;
  }
}

type KeptProvider = Pick<CeremonyProvider, "tenantId" | "providerId">;

function seal(box: SecretBox, kind: string, provider: CeremonyProvider, now: Date, content: object): string {
  const sealed: Sealed = { version: provider.version, expiresAt: now.getTime() + validForMs };
  return box.seal(JSON.stringify({ ...content, ...sealed }), contextOf(kind, provider)).toString("base64url");
}

function open(box: SecretBox, kind: string, provider: CeremonyProvider, now: Date, text: string): Sealed | undefined {
  let content: Sealed;
  try {
    content = JSON.parse(box.open(Buffer.from(text, "base64url"), contextOf(kind, provider))) as Sealed; // as sealed
  } catch {
    return undefined;
  }
  return content.version === provider.version && content.expiresAt > now.getTime() ? content : undefined;
}

function contextOf(kind: string, { tenantId, providerId }: KeptProvider): string {
  return `${kind}:${tenantId}:${providerId}`;
}
