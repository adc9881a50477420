/** Passkeys in the browser: the steps of signing in, registering and confirming (WebAuthn, Level 3). */
import { GatehouseError, type Problem } from "@gatehouse/client/errors";
import { signIn as texts } from "../messages/en/sign-in.ts";
import type { Session } from "./session-requests.ts";

/** Facts about this server that are available without authentication. */
export interface Installation {
  /** The address to which passkeys are bound, and with which links begin. */
  readonly publicUrl: string;
  /** Whether `/install/gateway` and `/install/device` install agents. */
  readonly hasAgentPackages: boolean;
  readonly sendsMail: boolean;
  /** Undefined unless the server runs in demo mode. */
  readonly demo?: {
    readonly people: readonly { readonly id: string; readonly email: string; readonly title: string }[];
  };
}

export function readInstallation(): Promise<Installation> {
  return send("GET", "/console/sign-in");
}

/** Whether this browser can use passkeys on this page. Browsers refuse them without TLS, except on localhost. */
export function supportsPasskeys(): boolean {
  return (
    globalThis.isSecureContext === true &&
    typeof PublicKeyCredential === "function" &&
    typeof PublicKeyCredential.parseCreationOptionsFromJSON === "function" &&
    typeof PublicKeyCredential.parseRequestOptionsFromJSON === "function"
  );
}

/** @throws GatehouseError, and a DOMException if the person cancels */
export async function signInWithPasskey(): Promise<Session> {
  const { options } = await send<RequestStep>("POST", "/console/sign-in/options");
  return send("POST", "/console/sign-in", { response: await answer(options) });
}

/** Signs in as an example person, in demo mode only. */
export async function signInAsDemoPerson(userId: string): Promise<Session> {
  return send("POST", "/console/demo/sign-in", { userId });
}

/** A session, with the code that replaces the one that was used. */
export type RecoveredSession = Session & { readonly recoveryCode: string };

/** @throws GatehouseError */
export async function signInWithRecoveryCode(code: string): Promise<RecoveredSession> {
  return send("POST", "/console/recovery", { code });
}

/** The person whom an enrolment link is for. */
export interface EnrollingPerson {
  readonly email: string;
  readonly tenantName: string;
}

/** Looks up the person of an enrolment link. */
export async function readEnrolment(token: string): Promise<EnrollingPerson> {
  return (await send<CreationStep & { person: EnrollingPerson }>("POST", "/console/enrolment/options", { token }))
    .person;
}

/** Registers the first passkey of a person, and signs the person in. */
export async function enrol(token: string, name: string): Promise<Session> {
  const { options } = await send<CreationStep>("POST", "/console/enrolment/options", { token });
  return send("POST", "/console/enrolment", { token, name, response: await create(options) });
}

/** Registers a further passkey of the signed-in person. */
export async function registerPasskey(name: string): Promise<void> {
  const { options } = await send<CreationStep>("POST", "/console/account/passkeys/options");
  await send("POST", "/console/account/passkeys", { name, response: await create(options) });
}

/** Confirms that the signed-in person is present. */
export async function confirmIdentity(): Promise<void> {
  const { options } = await send<RequestStep>("POST", "/console/account/authentication/options");
  await send("POST", "/console/account/authentication", { response: await answer(options) });
}

/** Replaces the recovery code of the signed-in person, and returns the new one. */
export async function renewRecoveryCode(): Promise<string> {
  return (await send<{ recoveryCode: string }>("POST", "/console/account/recovery-code")).recoveryCode;
}

/** A name for a new passkey that the person can keep. */
export function suggestedName(): string {
  const { platform } = navigator;
  return platform === "" ? texts.passkeys.defaultName : platform.slice(0, 60);
}

interface CreationStep {
  readonly options: PublicKeyCredentialCreationOptionsJSON;
}
interface RequestStep {
  readonly options: PublicKeyCredentialRequestOptionsJSON;
}

async function create(options: PublicKeyCredentialCreationOptionsJSON): Promise<object> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  return jsonOf(await navigator.credentials.create({ publicKey }));
}

async function answer(options: PublicKeyCredentialRequestOptionsJSON): Promise<object> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return jsonOf(await navigator.credentials.get({ publicKey }));
}

function jsonOf(credential: Credential | null): object {
  if (!(credential instanceof PublicKeyCredential)) throw new Error("the browser returned no passkey");
  return credential.toJSON() as object;
}

/** Sends a request to a route of the console. */
export async function send<T>(method: "GET" | "POST", path: string, body?: object): Promise<T> {
  const response = await fetch(path, {
    method,
    credentials: "same-origin",
    ...(body === undefined ? {} : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
  });
  if (response.status === 204) return undefined as T; // the caller expects no body
  const answered: unknown = await response.json();
  if (!response.ok) throw new GatehouseError(answered as Problem); // Gatehouse returns every error in this form
  return answered as T;
}
