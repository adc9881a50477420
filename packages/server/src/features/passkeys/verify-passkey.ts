/** Options for browsers, and the verification of their responses (WebAuthn, Level 3). */
import { createHash } from "node:crypto";
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import type { NewPasskey, PasskeyRow } from "./passkeys.queries.ts";

/** The address of the server, which passkeys are bound to. */
export interface RelyingParty {
  /** The host name: the relying party's id. */
  readonly id: string;
  /** The only origin whose pages may use the passkeys. */
  readonly origin: string;
}

/** How long a person can take to answer, in milliseconds. */
export const ceremonyMs = 5 * 60_000;
/** Loaded for the first passkey: a replica that only serves the API does not need these 250 modules. */
const loadLibrary = () => import("@simplewebauthn/server");
const loadDecoders = () => import("@simplewebauthn/server/helpers");
const minCredentialBytes = 16;
const maxCredentialBytes = 1023;
/**
 * The library decodes the CBOR of responses in one turn of the event loop, before it verifies a signature. Many small
 * items make that slow, so longer data is refused beforehand.
 */
const maxAuthenticatorDataBytes = 1024;
const maxAttestationBytes = 4096;

export function relyingPartyOf(publicUrl: URL): RelyingParty {
  return { id: publicUrl.hostname, origin: publicUrl.origin };
}

/** The user handle of a passkey: the user's id. It says nothing about the person. */
export function userHandleOf(userId: string): Buffer {
  return Buffer.from(userId.replaceAll("-", ""), "hex");
}

export interface PasskeyOwner {
  readonly id: string;
  readonly email: string;
  readonly name: string;
}

/** Options for `navigator.credentials.create`. */
export async function registrationOptions(
  relyingParty: RelyingParty,
  owner: PasskeyOwner,
  challenge: Buffer,
  existing: readonly PasskeyRow[],
) {
  const { generateRegistrationOptions } = await loadLibrary();
  return generateRegistrationOptions({
    rpName: "Gatehouse",
    rpID: relyingParty.id,
    userID: Uint8Array.from(userHandleOf(owner.id)),
    userName: owner.email,
    userDisplayName: owner.name,
    challenge: Uint8Array.from(challenge),
    timeout: ceremonyMs,
    attestationType: "none",
    // The sign-in page does not ask for a name, so the passkey must be discoverable.
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    excludeCredentials: existing.map(({ credential_id: id, transports }) => ({
      id: id.toString("base64url"),
      transports: [...transports],
    })),
  });
}

/** Options for `navigator.credentials.get`. Without passkeys, the person chooses one. */
export async function authenticationOptions(
  relyingParty: RelyingParty,
  challenge: Buffer,
  passkeys: readonly PasskeyRow[] = [],
) {
  const { generateAuthenticationOptions } = await loadLibrary();
  return generateAuthenticationOptions({
    rpID: relyingParty.id,
    challenge: Uint8Array.from(challenge),
    timeout: ceremonyMs,
    userVerification: "required",
    allowCredentials: passkeys.map(({ credential_id: id, transports }) => ({
      id: id.toString("base64url"),
      transports: [...transports],
    })),
  });
}

/**
 * Verifies a browser's response to registration options.
 *
 * @returns the passkey, or the reason for a refusal
 */
export async function verifyRegistration(
  response: unknown,
  challenge: Buffer,
  { id, origin }: RelyingParty,
): Promise<Omit<NewPasskey, "id" | "userId" | "name"> | { readonly refused: string }> {
  const { verifyRegistrationResponse } = await loadLibrary();
  try {
    const problem = (await frameProblem(response)) ?? (await attestationProblem(response));
    if (problem !== undefined) return { refused: problem };
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: response as RegistrationResponseJSON, // the library checks each field
      expectedChallenge: challenge.toString("base64url"),
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: true,
    });
    if (!verified) return { refused: "the response could not be verified" };
    const { credential, credentialBackedUp: backedUp } = registrationInfo;
    const credentialId = Buffer.from(credential.id, "base64url");
    if (credentialId.length < minCredentialBytes || credentialId.length > maxCredentialBytes) {
      return { refused: "the credential id has an unusual length" };
    }
    const transports = (credential.transports ?? [])
      .filter((transport) => typeof transport === "string" && transport.length <= 32)
      .slice(0, 10);
    return {
      credentialId,
      publicKey: Buffer.from(credential.publicKey),
      counter: credential.counter,
      transports,
      backedUp,
    };
  } catch (error) {
    return { refused: reasonOf(error) };
  }
}

/**
 * Checks that the page of the server was not in a frame of another site. No page of the server is meant for frames, and
 * another site could have people register passkeys in one. The library checks this for sign-ins only, and only if the
 * browser names the outermost page.
 *
 * @returns the reason for a refusal
 * @throws Error if the client data is malformed
 */
async function frameProblem(response: unknown): Promise<string | undefined> {
  const { decodeClientDataJSON } = await loadDecoders();
  const text = fieldOf(fieldOf(response, "response"), "clientDataJSON");
  if (typeof text !== "string") return "the response has no client data";
  const { crossOrigin, topOrigin } = decodeClientDataJSON(text);
  const isFramed = (crossOrigin !== undefined && crossOrigin !== false) || topOrigin !== undefined;
  return isFramed ? "the page was in a frame of another site" : undefined;
}

/**
 * Checks the length and the format of an attestation. Small extensions are accepted: Chromium adds credProtect itself,
 * and KeePassXC returns credProps, which the library requests, in the authenticator data.
 *
 * The options ask for no statement. Browsers then send none, or one that the passkey has signed itself. Before the
 * library trusts the certificates of other statements, it requests the revocation lists that they name, at any URL
 * (docs/decisions/0261-attestations-and-own-requests.md).
 *
 * @returns the reason for a refusal
 * @throws Error if the attestation is malformed
 */
async function attestationProblem(response: unknown): Promise<string | undefined> {
  const { decodeAttestationObject, isoBase64URL } = await loadDecoders();
  const text = fieldOf(fieldOf(response, "response"), "attestationObject");
  if (typeof text !== "string") return "the response has no attestation";
  if (Buffer.byteLength(text, "base64url") > maxAttestationBytes) {
    return `the attestation is longer than ${maxAttestationBytes} bytes`;
  }
  // The library decodes the text in the same way. Another decoder could find another format.
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(text));
  const format: string = attestation.get("fmt");
  if (format === "none") return undefined;
  const signsItself = format === "packed" && attestation.get("attStmt").get("x5c") === undefined;
  return signsItself ? undefined : `the attestation has the format ${JSON.stringify(format)}, but none was requested`;
}

/**
 * Checks the length of the authenticator data of a sign-in. Small extensions are accepted, because clients and
 * authenticators can add some that were not requested.
 *
 * @returns the reason for a refusal
 */
function authenticatorDataProblem(response: unknown): string | undefined {
  const text = fieldOf(fieldOf(response, "response"), "authenticatorData");
  if (typeof text !== "string") return "the response has no authenticator data";
  if (Buffer.byteLength(text, "base64url") <= maxAuthenticatorDataBytes) return undefined;
  return `the authenticator data is longer than ${maxAuthenticatorDataBytes} bytes`;
}

/** The SHA-256 of the credential id in a browser's response; undefined for a response without one. */
export function presentedCredentialHash(response: unknown): Buffer | undefined {
  const id = fieldOf(response, "id");
  if (typeof id !== "string" || id.length > 2 * maxCredentialBytes) return undefined;
  const bytes = Buffer.from(id, "base64url");
  return bytes.length < minCredentialBytes ? undefined : createHash("sha256").update(bytes).digest();
}

/**
 * Verifies a browser's response to authentication options.
 *
 * @returns the passkey's new state, or the reason for a refusal
 */
export async function verifyAuthentication(
  response: unknown,
  challenge: Buffer,
  passkey: PasskeyRow,
  { id, origin }: RelyingParty,
): Promise<{ readonly counter: number; readonly backedUp: boolean } | { readonly refused: string }> {
  const handle = fieldOf(fieldOf(response, "response"), "userHandle");
  // Authenticators omit the handle if the options name the passkeys.
  if (handle !== undefined && handle !== null && handle !== userHandleOf(passkey.user_id).toString("base64url")) {
    return { refused: "the user handle belongs to another user" };
  }
  const { verifyAuthenticationResponse } = await loadLibrary();
  try {
    const problem = (await frameProblem(response)) ?? authenticatorDataProblem(response);
    if (problem !== undefined) return { refused: problem };
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: response as AuthenticationResponseJSON, // the library checks each field
      expectedChallenge: challenge.toString("base64url"),
      expectedOrigin: origin,
      expectedRPID: id,
      credential: {
        id: passkey.credential_id.toString("base64url"),
        publicKey: Uint8Array.from(passkey.public_key),
        counter: passkey.counter,
      },
      requireUserVerification: true,
    });
    if (!verified) return { refused: "the signature is not valid" };
    return { counter: authenticationInfo.newCounter, backedUp: authenticationInfo.credentialBackedUp };
  } catch (error) {
    return { refused: reasonOf(error) };
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

const maxReasonLength = 200;

/** The library's messages quote parts of the response, which can be long. */
function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : "the response is malformed";
  // The log of sign-ins cannot store the NUL character.
  return reason.slice(0, maxReasonLength).replaceAll("\0", " ");
}
