/** Reads an identity from a provider's claims. Every value is optional, of any type, and bounded here. */

export type Claims = Readonly<Record<string, unknown>>;

export interface ProviderIdentity {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | undefined;
  /** Only `true` counts: some providers send text, or nothing for addresses that nobody verified. */
  readonly emailVerified: boolean;
  readonly firstName: string | undefined;
  readonly lastName: string | undefined;
  /** Undefined if the provider sent no groups, or too many: see `groupOverage`. */
  readonly groups: readonly string[] | undefined;
  /** Whether the person is in more groups than the provider sends (Entra ID). Then the groups are unknown. */
  readonly groupOverage: boolean;
  readonly acr: string | undefined;
  readonly amr: readonly string[];
  readonly authTime: Date | undefined;
  /** The provider's session, for back-channel logout. */
  readonly session: string | undefined;
  /** The latest end of the session (IPSIE). */
  readonly sessionExpiresAt: Date | undefined;
}

/** The maximum length of a claim in UTF-16 code units. OpenID Connect Core 1.0, section 2, sets it for `sub`. */
export const maxTextLength = 255;
/** Characters that the database or a line of text cannot contain. */
const unprintable = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;
const unprintables = new RegExp(unprintable, "gu");
const maxGroups = 1_000;
const maxMethods = 20;
/** The last second that a date can represent. */
const lastSecond = 8_640_000_000_000;

/**
 * @param idToken the verified claims of the ID token. Only they describe the authentication and the session.
 * @param userInfo the claims of UserInfo, which complete what describes the person
 */
export function identityOf(idToken: Claims, userInfo: Claims, groupsClaim: string): ProviderIdentity {
  const claims = { ...userInfo, ...idToken };
  const groups = claims[groupsClaim];
  const overage = isRecord(claims._claim_names) && Object.hasOwn(claims._claim_names, groupsClaim);
  const list = overage ? undefined : textList(groups);
  const tooMany = list !== undefined && list.length > maxGroups;
  return {
    issuer: String(idToken.iss),
    subject: String(idToken.sub),
    email: textOf(claims.email),
    emailVerified: isVerified(claims.email, [idToken, userInfo]),
    firstName: textOf(claims.given_name),
    lastName: textOf(claims.family_name),
    groups: tooMany ? undefined : list,
    groupOverage: overage || tooMany,
    acr: textOf(idToken.acr),
    amr: (textList(idToken.amr) ?? []).slice(0, maxMethods),
    authTime: dateOf(idToken.auth_time),
    session: textOf(idToken.sid),
    sessionExpiresAt: dateOf(idToken.session_expiry),
  };
}

/** A flag counts only for the address in the same document. The first document with both decides. */
function isVerified(email: unknown, documents: readonly Claims[]): boolean {
  if (textOf(email) === undefined) return false;
  const flags = documents.filter((claims) => claims.email === email).map((claims) => claims.email_verified);
  return flags.find((flag) => flag !== undefined) === true;
}

export function isPlainText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= maxTextLength && !unprintable.test(value);
}

/** The text as one line that the database can store. */
export function printable(text: string): string {
  return text.replace(unprintables, "\ufffd");
}

function textOf(value: unknown): string | undefined {
  return isPlainText(value) ? value : undefined;
}

/** Some providers send one group as text. */
function textList(value: unknown): readonly string[] | undefined {
  if (typeof value === "string") return textList([value]);
  if (!Array.isArray(value)) return undefined;
  return [...new Set(value.map(textOf).filter((text) => text !== undefined))];
}

function dateOf(value: unknown): Date | undefined {
  return typeof value === "number" && value >= 0 && value <= lastSecond ? new Date(value * 1000) : undefined;
}

function isRecord(value: unknown): value is Claims {
  return typeof value === "object" && value !== null;
}
