/** Validates logout tokens (OpenID Connect Back-Channel Logout 1.0, section 2.6). */
import * as jose from "jose";
import { GuardedFetchError, guardedFetch } from "../../platform/outbound/guarded-fetch.ts";
import { isPlainText } from "./provider-claims.ts";
import { discover, type Provider, type ProviderAccess, SignInFailure } from "./relying-party.ts";

/** The sessions that the provider ends. At least one of subject and session is present. */
export interface LogoutRequest {
  readonly issuer: string;
  /** All sessions of this subject, if the token names no session. */
  readonly subject: string | undefined;
  /** The provider's session. */
  readonly session: string | undefined;
  /** A token is accepted once. */
  readonly tokenId: string;
  readonly expiresAt: Date;
}

const event = "http://schemas.openid.net/event/backchannel-logout";
const clockToleranceSeconds = 60;
/** The longest validity of a token, which bounds the store of accepted tokens. */
const maxAgeSeconds = 3_600;
const asymmetric = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/;

/** The current keys of a provider. */
export interface ProviderKeys {
  readonly issuer: string;
  readonly algorithms: readonly string[];
  readonly find: jose.JWTVerifyGetKey;
}

/** @throws SignInFailure */
export async function readProviderKeys(provider: Provider, access: ProviderAccess): Promise<ProviderKeys> {
  const metadata = (await discover(provider, access)).serverMetadata();
  const { issuer, id_token_signing_alg_values_supported: supported = ["RS256"] } = metadata;
  const algorithms = supported.filter((name) => asymmetric.test(name));
  return { issuer, algorithms, find: await readKeySet(metadata.jwks_uri, access) };
}

/**
 * @param read reads the current keys of the provider
 * @throws SignInFailure
 */
export async function verifyLogoutToken(
  provider: Provider,
  read: () => Promise<ProviderKeys>,
  token: string,
  now: Date,
): Promise<LogoutRequest> {
  // Anyone can send a token. What cannot be valid causes no request to the provider.
  checkClaims(unverifiedClaims(token), provider, now);
  const keys = await read();
  const claims = await jose
    .jwtVerify(token, keys.find, {
      issuer: keys.issuer,
      audience: provider.clientId,
      algorithms: [...keys.algorithms],
      clockTolerance: clockToleranceSeconds,
      currentDate: now,
      requiredClaims: ["iat", "exp", "jti", "events"],
    })
    .then(
      ({ payload, protectedHeader }) => {
        checkType(protectedHeader.typ);
        return payload;
      },
      (error: unknown) => {
        throw invalid(error instanceof Error ? error.message : "it cannot be verified");
      },
    );
  return checkClaims(claims, provider, now);
}

function unverifiedClaims(token: string): jose.JWTPayload {
  try {
    const { alg } = jose.decodeProtectedHeader(token);
    if (alg === undefined || !asymmetric.test(alg)) throw new Error(`"alg" is ${JSON.stringify(alg)}`);
    return jose.decodeJwt(token);
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : "it is not a JWT");
  }
}

/** A token of another type, such as an access token, is not a logout token. Providers can omit the type. */
function checkType(type: string | undefined): void {
  if (type === undefined) return;
  const name = type.toLowerCase().replace(/^application\//, "");
  if (name !== "jwt" && name !== "logout+jwt") throw invalid(`"typ" is ${JSON.stringify(type.slice(0, 50))}`);
}

function checkClaims(claims: jose.JWTPayload, provider: Provider, now: Date): LogoutRequest {
  const { iss, aud, iat, exp, jti, sub, sid, events, nonce } = claims;
  const seconds = now.getTime() / 1000;
  if (iss !== provider.issuer) throw invalid(`"iss" is another issuer`);
  const audiences = [aud].flat();
  if (audiences.length !== 1 || audiences[0] !== provider.clientId) throw invalid(`"aud" must be only this client`);
  if (typeof iat !== "number" || iat > seconds + clockToleranceSeconds || iat < seconds - maxAgeSeconds) {
    throw invalid(`"iat" is missing, in the future, or too old`);
  }
  if (typeof exp !== "number" || exp <= seconds - clockToleranceSeconds || exp > iat + maxAgeSeconds) {
    throw invalid(`"exp" is missing, past, or too far in the future`);
  }
  if (!isPlainText(jti)) throw invalid(`"jti" is missing`);
  if (nonce !== undefined) throw invalid(`"nonce" is present, as in an ID token`);
  if (!isRecord(events) || !isRecord(events[event])) throw invalid(`"events" does not contain the logout event`);
  if ((sub !== undefined && !isPlainText(sub)) || (sid !== undefined && !isPlainText(sid))) {
    throw invalid(`"sub" or "sid" is not a short text`);
  }
  if (sub === undefined && sid === undefined) throw invalid(`neither "sub" nor "sid" is present`);
  return {
    issuer: iss,
    subject: sub,
    session: sid,
    tokenId: jti,
    expiresAt: new Date((exp + clockToleranceSeconds) * 1000),
  };
}

async function readKeySet(url: string | undefined, access: ProviderAccess): Promise<jose.JWTVerifyGetKey> {
  if (url === undefined) throw new SignInFailure("provider_misconfigured", "the metadata has no jwks_uri");
  try {
    const response = await guardedFetch(url, { method: "GET", headers: { accept: "application/json" } }, access);
    return jose.createLocalJWKSet((await response.json()) as jose.JSONWebKeySet); // validated by the library
  } catch (error) {
    if (error instanceof GuardedFetchError) {
      throw new SignInFailure("provider_unreachable", `the provider is unreachable: ${error.message}`);
    }
    throw new SignInFailure("provider_misconfigured", "the provider's keys are not a JSON Web Key Set");
  }
}

function invalid(reason: string): SignInFailure {
  return new SignInFailure("token_invalid", `the logout token is not valid: ${reason}`);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
