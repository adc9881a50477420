/**
 * OpenID Connect as a relying party: authorization code with PKCE, and every check of the ID token. The provider's
 * metadata and keys are read whenever a browser returns, so that a new key of the provider is known at once.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import * as client from "openid-client";
import type { Exchange } from "../../platform/outbound/exchange.ts";
import { GuardedFetchError, guardedFetch } from "../../platform/outbound/guarded-fetch.ts";
import type { AllowedNetworks } from "../../platform/outbound/outbound-networks.ts";
import {
  type Claims,
  identityOf,
  isPlainText,
  maxTextLength,
  type ProviderIdentity,
  printable,
} from "./provider-claims.ts";

export interface Provider {
  /** The issuer identifier, as the provider writes it. */
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  readonly scopes: readonly string[];
  /** The claim that contains the names of groups. */
  readonly groupsClaim: string;
}

export interface ProviderAccess {
  /** The tenant of the provider. */
  readonly tenantId: string;
  readonly networks: AllowedNetworks;
  readonly exchange: Exchange;
  /** The time limit of each request, in milliseconds. */
  readonly timeoutMs?: number;
}

/** The secrets of one sign-in, which the browser holds encrypted until it returns. */
export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** The most seconds since the person authenticated; undefined without a limit. */
  readonly maxAgeSeconds?: number | undefined;
}

export interface FinishedSignIn extends ProviderIdentity {
  /** The verified ID token, which identifies the session when the person signs out at the provider. */
  readonly idToken: string;
}

export interface StartedSignIn {
  /** The provider's page. */
  readonly url: URL;
  readonly secrets: SignInSecrets;
}

export type SignInFailureCode =
  | "provider_unreachable"
  | "provider_misconfigured"
  | "provider_refused"
  | "response_invalid"
  | "token_invalid";

/** A failed sign-in. The message is for administrators; it contains no token. */
export class SignInFailure extends Error {
  readonly code: SignInFailureCode;

  constructor(code: SignInFailureCode, message: string, options?: ErrorOptions) {
    // Messages of libraries quote answers of providers, and the sign-in log cannot store every character.
    super(printable(message.slice(0, maxMessageLength)), options);
    this.name = "SignInFailure";
    this.code = code;
  }
}

/** The pages of a provider that browsers open. */
export type ProviderPages = Pick<client.ServerMetadata, "issuer" | "authorization_endpoint" | "end_session_endpoint">;

/** Reads the pages from the metadata of the provider. @throws SignInFailure */
export async function readPages(provider: Provider, access: ProviderAccess): Promise<ProviderPages> {
  const { issuer, authorization_endpoint, end_session_endpoint } = (await discover(provider, access)).serverMetadata();
  const addresses = Object.entries({ authorization_endpoint, end_session_endpoint });
  for (const [name, address = ""] of addresses) {
    if (address.length <= maxPageLength) continue;
    throw new SignInFailure("provider_misconfigured", `the metadata's "${name}" is longer than ${maxPageLength}`);
  }
  return { issuer, ...Object.fromEntries(addresses.filter(([, address]) => address !== undefined)) };
}

const clockToleranceSeconds = 60;
const maxMessageLength = 300;
/** The longest address of a page, because addresses are retained. */
const maxPageLength = 4_096;

export interface StartOptions {
  /** The pages if they are known. Otherwise they are read. */
  readonly pages?: ProviderPages | undefined;
  readonly redirectUri: string;
  readonly maxAgeSeconds?: number | undefined;
  /** The address that the person entered. */
  readonly loginHint?: string | undefined;
  /** Whether the provider must ask the person again, although the person has a session there. */
  readonly asksAgain?: boolean;
}

/** @throws SignInFailure */
export async function startSignIn(
  provider: Provider,
  access: ProviderAccess,
  { pages, redirectUri, maxAgeSeconds, loginHint, asksAgain = false }: StartOptions,
): Promise<StartedSignIn> {
  const configuration = configurationOf(provider, pages ?? (await readPages(provider, access)));
  const secrets = {
    state: client.randomState(),
    nonce: client.randomNonce(),
    codeVerifier: client.randomPKCECodeVerifier(),
    maxAgeSeconds,
  };
  const parameters = {
    redirect_uri: redirectUri,
    scope: [...new Set(["openid", ...provider.scopes])].join(" "),
    state: secrets.state,
    nonce: secrets.nonce,
    code_challenge: await client.calculatePKCECodeChallenge(secrets.codeVerifier),
    code_challenge_method: "S256",
    ...(maxAgeSeconds === undefined ? {} : { max_age: String(maxAgeSeconds) }),
    ...(loginHint === undefined ? {} : { login_hint: loginHint }),
    ...(asksAgain ? { prompt: "login" } : {}),
  };
  return { url: pageOf(() => client.buildAuthorizationUrl(configuration, parameters)), secrets };
}

/**
 * Exchanges the code and verifies the identity.
 *
 * @param callback the address at which the browser returned, with the provider's parameters
 * @throws SignInFailure
 */
export async function finishSignIn(
  provider: Provider,
  access: ProviderAccess,
  callback: URL,
  secrets: SignInSecrets,
): Promise<FinishedSignIn> {
  const configuration = await discover(provider, access);
  try {
    const tokens = await client.authorizationCodeGrant(configuration, callback, {
      expectedState: secrets.state,
      expectedNonce: secrets.nonce,
      pkceCodeVerifier: secrets.codeVerifier,
      idTokenExpected: true,
      ...(secrets.maxAgeSeconds === undefined ? {} : { maxAge: secrets.maxAgeSeconds }),
    });
    const claims = tokens.claims();
    if (claims === undefined || tokens.id_token === undefined) {
      throw new SignInFailure("token_invalid", "the provider sent no ID token");
    }
    checkAudience(claims, provider.clientId);
    checkAccessTokenHash(claims, tokens.id_token, tokens.access_token);
    if (secrets.maxAgeSeconds !== undefined) checkAuthenticationTime(claims);
    const userInfo = needsUserInfo(claims, provider)
      ? await readUserInfo(configuration, tokens.access_token, claims.sub)
      : {};
    if (!isPlainText(claims.sub)) {
      throw new SignInFailure(
        "token_invalid",
        `the ID token's "sub" is not a string of at most ${maxTextLength} characters`,
      );
    }
    const identity = identityOf(claims, userInfo, provider.groupsClaim);
    // A limit that cannot be read must not become a session without a limit.
    if (claims.session_expiry !== undefined && identity.sessionExpiresAt === undefined) {
      throw new SignInFailure("token_invalid", `the ID token's "session_expiry" is not a time`);
    }
    return { ...identity, idToken: tokens.id_token };
  } catch (error) {
    throw failureOf(error);
  }
}

export interface SignOutOptions {
  /** The pages if they are known. Otherwise they are read. */
  readonly pages?: ProviderPages | undefined;
  readonly redirectUri: string;
  /** The ID token of the session; undefined if the browser holds none. */
  readonly idToken: string | undefined;
}

/**
 * The page at which a person signs out at the provider (OpenID Connect RP-Initiated Logout 1.0).
 *
 * @returns undefined if the provider has none
 * @throws SignInFailure
 */
export async function signOutUrl(
  provider: Provider,
  access: ProviderAccess,
  { pages, redirectUri, idToken }: SignOutOptions,
): Promise<URL | undefined> {
  const configuration = configurationOf(provider, pages ?? (await readPages(provider, access)));
  if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
  const parameters = {
    post_logout_redirect_uri: redirectUri,
    ...(idToken === undefined ? {} : { id_token_hint: idToken }),
  };
  return pageOf(() => client.buildEndSessionUrl(configuration, parameters));
}

/** The address of a page of the provider. The library refuses other protocols than HTTP. @throws SignInFailure */
function pageOf(build: () => URL): URL {
  try {
    return build();
  } catch (error) {
    throw failureOf(error, "provider_misconfigured");
  }
}

/** Reads the metadata of the provider. @throws SignInFailure */
export async function discover(provider: Provider, access: ProviderAccess): Promise<client.Configuration> {
  const issuer = new URL(provider.issuer);
  const send: client.CustomFetch = (url, { method, headers, body }) =>
    guardedFetch(
      url,
      { method, headers, body: body === undefined || body === null ? undefined : String(body) },
      access,
    );
  try {
    const found = await client.discovery(issuer, provider.clientId, undefined, undefined, {
      [client.customFetch]: send,
      execute: insecurityOf(provider),
    });
    const configuration = configurationOf(provider, found.serverMetadata());
    configuration[client.customFetch] = send;
    // Verifies the signature, although the token comes over TLS: plain HTTP is possible in allowed networks.
    client.enableNonRepudiationChecks(configuration);
    return configuration;
  } catch (error) {
    throw failureOf(error, "provider_misconfigured");
  }
}

function configurationOf(provider: Provider, metadata: client.ServerMetadata): client.Configuration {
  const configuration = new client.Configuration(
    metadata,
    provider.clientId,
    { [client.clockTolerance]: clockToleranceSeconds },
    authenticationOf(provider, metadata.token_endpoint_auth_methods_supported),
  );
  for (const allow of insecurityOf(provider)) allow(configuration);
  return configuration;
}

/** Plain HTTP stays in networks that the operator allows, which guardedFetch checks. */
function insecurityOf({ issuer }: Provider) {
  return new URL(issuer).protocol === "http:" ? [client.allowInsecureRequests] : [];
}

function authenticationOf({ clientSecret }: Provider, supported: readonly string[] | undefined): client.ClientAuth {
  if (clientSecret === undefined) return client.None();
  // Without a list, the provider supports the basic method (OpenID Connect Discovery 1.0, section 3).
  const basic = supported === undefined || supported.includes("client_secret_basic");
  return basic ? basicAuthentication(clientSecret) : client.ClientSecretPost(clientSecret);
}

/**
 * The method client_secret_basic. The library's own also encodes "-", ".", "_" and "~", which changes nothing for
 * providers that decode the header (RFC 6749, section 2.3.1), and makes those that do not decode it refuse the secret.
 */
function basicAuthentication(clientSecret: string): client.ClientAuth {
  return (_server, { client_id: clientId }, _body, headers) => {
    const credentials = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
    headers.set("authorization", `Basic ${Buffer.from(credentials).toString("base64")}`);
  };
}

function formEncoded(text: string): string {
  const escaped = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text)
    .replaceAll("%20", "+")
    .replace(/[!'()*]/g, escaped);
}

/** A token for several audiences could be presented by another of them. */
function checkAudience({ aud, azp }: client.IDToken, clientId: string): void {
  const audiences = typeof aud === "string" ? [aud] : aud;
  if (audiences.length !== 1 || audiences[0] !== clientId) {
    throw new SignInFailure("token_invalid", `the ID token's "aud" must be only this client`);
  }
  if (azp !== undefined && azp !== clientId) {
    throw new SignInFailure("token_invalid", `the ID token's "azp" names another client`);
  }
}

/** OpenID Connect Core 1.0, section 3.1.3.8. */
function checkAccessTokenHash({ at_hash: expected }: client.IDToken, idToken: string, accessToken: string): void {
  if (expected === undefined) return;
  const header: unknown = JSON.parse(Buffer.from(idToken.split(".", 1)[0] ?? "", "base64url").toString());
  const { alg = "" } = header as { alg?: string }; // the library has verified the token
  const bits = /^(?:RS|PS|ES)(256|384|512)$/.exec(alg)?.[1] ?? "512";
  const digest = createHash(`sha${bits}`).update(accessToken).digest();
  const half = Buffer.from(digest.subarray(0, digest.length / 2).toString("base64url"));
  const given = Buffer.from(String(expected));
  if (given.length !== half.length || !timingSafeEqual(given, half)) {
    throw new SignInFailure("token_invalid", `the ID token's "at_hash" belongs to another access token`);
  }
}

/** The library refuses only times that are too old. */
function checkAuthenticationTime({ auth_time: seconds }: client.IDToken): void {
  if (typeof seconds !== "number" || seconds > Date.now() / 1000 + clockToleranceSeconds) {
    throw new SignInFailure("token_invalid", `the ID token's "auth_time" is in the future`);
  }
}

/** Providers can put claims in the ID token, in UserInfo, or in both. */
function needsUserInfo(claims: Claims, { groupsClaim }: Provider): boolean {
  return claims.email === undefined || (claims[groupsClaim] === undefined && claims._claim_names === undefined);
}

async function readUserInfo(configuration: client.Configuration, token: string, subject: string): Promise<Claims> {
  if (configuration.serverMetadata().userinfo_endpoint === undefined) return {};
  return client.fetchUserInfo(configuration, token, subject);
}

function failureOf(error: unknown, otherwise: SignInFailureCode = "token_invalid"): SignInFailure {
  if (error instanceof SignInFailure) return error;
  const causes = chainOf(error);
  const unreachable = causes.find((cause) => cause instanceof GuardedFetchError);
  if (unreachable !== undefined) {
    return new SignInFailure("provider_unreachable", `the provider is unreachable: ${unreachable.message}`, {
      cause: error,
    });
  }
  if (error instanceof client.AuthorizationResponseError || error instanceof client.ResponseBodyError) {
    const { error: code } = error;
    return new SignInFailure("provider_refused", `the provider answered ${JSON.stringify(code.slice(0, 100))}`, {
      cause: error,
    });
  }
  if (error instanceof client.WWWAuthenticateChallengeError) {
    return new SignInFailure("provider_refused", "the provider refused the client's id or secret", { cause: error });
  }
  // The deepest message names the claim or the field. Messages of the library contain no tokens.
  const message = causes.at(-1)?.message ?? "the response is invalid";
  const code = /authorization response|"state"|response parameter/.test(message) ? "response_invalid" : otherwise;
  return new SignInFailure(code, message, { cause: error });
}

/** The error and its causes, outermost first. Causes that are not errors, such as responses, end the chain. */
function chainOf(error: unknown): readonly Error[] {
  const chain: Error[] = [];
  for (let next = error; next instanceof Error && chain.length < 10; next = next.cause) chain.push(next);
  return chain;
}
