/**
 * The command line as a client of the server's authorization server (RFC 6749, RFC 7636, RFC 8252, RFC 8628), through
 * `openid-client`.
 */
import { createHash } from "node:crypto";
import { hostname } from "node:os";
import * as oauth from "openid-client";
import { CommandFailure } from "../failure.ts";
import { type ClientId, requireProtected, unreachable } from "./connection-failures.ts";
import type { Context } from "./credential-file.ts";
import { LoopbackListener } from "./loopback-listener.ts";

const enrolmentKeyGrant = "urn:gatehouse:oauth:grant-type:enrolment-key";
/** The time limit of a request, in seconds. */
const requestSeconds = 15;
/** How long a person can take in the browser, in milliseconds. */
const browserMs = 10 * 60_000;

export interface LoginRequest {
  /** The maximum age of the person's authentication, in seconds. */
  readonly maxAge?: number | undefined;
  /** Ends the wait for the person. */
  readonly signal?: AbortSignal | undefined;
}

/** Shows a text to the person who signs in. */
export type Show = (lines: readonly string[]) => void;

/** The tokens of a server. */
export class AuthorizationClient {
  readonly #configuration: oauth.Configuration;
  readonly url: string;

  private constructor(configuration: oauth.Configuration, url: string) {
    this.#configuration = configuration;
    this.url = url;
  }

  /**
   * Reads the server's metadata.
   *
   * @param url the address that the user gave; the server can have another public address
   * @throws CommandFailure
   */
  static async connect(url: string, clientId: ClientId = "gatehouse-cli"): Promise<AuthorizationClient> {
    const issuer = await readIssuer(url);
    requireProtected(issuer, clientId);
    const insecure = issuer.protocol === "http:" ? [oauth.allowInsecureRequests] : [];
    const options = { algorithm: "oauth2", timeout: requestSeconds, execute: insecure } as const;
    const configuration = await oauth
      .discovery(issuer, clientId, undefined, oauth.None(), options)
      .catch((error: unknown) => {
        throw unreachable(error, url, issuer) ?? failureOf(url, error);
      });
    return new AuthorizationClient(configuration, issuer.origin);
  }

  /**
   * Signs in through a browser on this machine.
   *
   * @param open opens the address in the browser
   * @throws CommandFailure if the person refuses, or does not answer
   */
  async signInWithBrowser(open: (url: string) => void, show: Show, { maxAge, signal }: LoginRequest): Promise<Context> {
    const verifier = oauth.randomPKCECodeVerifier();
    const state = oauth.randomState();
    const listener = await LoopbackListener.open(state);
    try {
      const url = oauth.buildAuthorizationUrl(this.#configuration, {
        redirect_uri: listener.redirectUri,
        state,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        ...this.#asked(maxAge),
      });
      show([
        "To sign in, approve this command line in the browser. If no browser opens, open this address:",
        "",
        `  ${url.href}`,
        "",
      ]);
      open(url.href);
      const answer = await listener.answer(withTimeLimit(signal));
      const response = await reported(this.url, () =>
        oauth.authorizationCodeGrant(this.#configuration, answer, { pkceCodeVerifier: verifier, expectedState: state }),
      );
      return contextOf(this.url, response);
    } finally {
      await listener.close();
    }
  }

  /**
   * Signs in through a browser on any machine.
   *
   * @throws CommandFailure if the person refuses, or does not answer
   */
  async signInWithCode(show: Show, { maxAge, signal }: LoginRequest): Promise<Context> {
    const response = await reported(this.url, async () => {
      const asked = await oauth.initiateDeviceAuthorization(this.#configuration, this.#asked(maxAge));
      const minutes = Math.round(asked.expires_in / 60);
      show([
        `To sign in, open ${asked.verification_uri} in a browser on any device, and enter this code within ${minutes} minutes:`,
        "",
        `  ${asked.user_code}`,
        "",
        `Approve it only if the page names this machine: ${machineName()}.`,
        "",
      ]);
      const limit = withTimeLimit(signal);
      return oauth.pollDeviceAuthorizationGrant(this.#configuration, asked, undefined, { signal: limit });
    });
    return contextOf(this.url, response);
  }

  /**
   * Enrols this machine as a device of the person who approves it.
   *
   * @throws CommandFailure if the person refuses, or does not answer
   */
  async enrol(machine: EnrollingMachine, show: Show, { signal }: LoginRequest = {}): Promise<EnrolledMachine> {
    const name = machineName(machine.name);
    const response = await reported(this.url, async () => {
      const asked = await oauth.initiateDeviceAuthorization(this.#configuration, formOf(machine));
      const minutes = Math.round(asked.expires_in / 60);
      show([
        "To enrol this machine as your device, open this address in a browser on any device, and sign in:",
        "",
        `  ${asked.verification_uri_complete ?? asked.verification_uri}`,
        "",
        `The code is ${asked.user_code}. It is valid for ${minutes} minutes. Approve it only if the page shows:`,
        "",
        `  Machine          ${name}`,
        `  Key fingerprint  ${keyFingerprint(machine.publicKey)}`,
        "",
      ]);
      return oauth.pollDeviceAuthorizationGrant(this.#configuration, asked, undefined, {
        signal: withTimeLimit(signal),
      });
    });
    return enrolledOf(this.url, response);
  }

  /**
   * Enrols this machine with an enrolment key, without a person.
   *
   * @throws CommandFailure if the server does not accept the key or the machine
   */
  async enrolWithKey(key: string, machine: EnrollingMachine): Promise<EnrolledMachine> {
    try {
      const response = await oauth.genericGrantRequest(this.#configuration, enrolmentKeyGrant, {
        enrolment_key: key,
        ...formOf(machine),
      });
      return enrolledOf(this.url, response);
    } catch (error) {
      if (!(error instanceof oauth.ResponseBodyError)) throw failureOf(this.url, error);
      throw new CommandFailure(`The enrolment failed: ${error.error_description ?? error.error}`, {
        details: error.error === "invalid_grant" ? ["Check the key with gatehouse enrolment-key list."] : [],
      });
    }
  }

  /**
   * Begins a new session of this machine's device.
   *
   * @returns the end of the session; undefined if the tenant sets no lifetime
   * @throws CommandFailure if the person refuses, or does not answer
   */
  async signInOnDevice(
    { name, token, publicKey }: { readonly name: string; readonly token: string; readonly publicKey: string },
    show: Show,
    { signal }: LoginRequest = {},
  ): Promise<{ readonly endsAt?: string | undefined }> {
    const { device } = await reported(this.url, async () => {
      const asked = await oauth.initiateDeviceAuthorization(this.#configuration, {
        machine: machineName(name),
        device_token: token,
      });
      const minutes = Math.round(asked.expires_in / 60);
      show([
        "To sign in on this device, open this address in a browser on any device:",
        "",
        `  ${asked.verification_uri_complete ?? asked.verification_uri}`,
        "",
        `The code is ${asked.user_code}. It is valid for ${minutes} minutes. Approve it only if the page shows:`,
        "",
        `  Device           ${name}`,
        `  Key fingerprint  ${keyFingerprint(publicKey)}`,
        "",
      ]);
      return oauth.pollDeviceAuthorizationGrant(this.#configuration, asked, undefined, {
        signal: withTimeLimit(signal),
      });
    });
    if (!isNamed(device, "name")) throw new CommandFailure(`${this.url} sent an unexpected answer.`);
    const endsAt: unknown = Reflect.get(device, "session_ends_at");
    return { endsAt: typeof endsAt === "string" ? endsAt : undefined };
  }

  /** @returns the next tokens; undefined if the server does not accept the refresh token, and the session is over */
  async refresh(context: Context): Promise<Context | undefined> {
    try {
      return contextOf(this.url, await oauth.refreshTokenGrant(this.#configuration, context.refreshToken));
    } catch (error) {
      if (error instanceof oauth.ResponseBodyError && error.error === "invalid_grant") return undefined;
      throw failureOf(this.url, error);
    }
  }

  /** Ends the session on the server. */
  async signOut({ refreshToken }: Context): Promise<void> {
    await reported(this.url, () => oauth.tokenRevocation(this.#configuration, refreshToken));
  }

  #asked(maxAge: number | undefined): Record<string, string> {
    return { machine: machineName(), ...(maxAge === undefined ? {} : { max_age: String(maxAge) }) };
  }
}

/** The machine that is to be enrolled. */
export interface EnrollingMachine {
  readonly name: string;
  readonly os: string;
  readonly osVersion: string;
  readonly appVersion: string;
  readonly hardwareId: string;
  readonly publicKey: string;
}

export interface EnrolledMachine {
  /** The token of the device's agent. */
  readonly token: string;
  /** The id of the device. */
  readonly device: string;
  readonly name: string;
  /** The email address of the person. */
  readonly user: string;
  /** Whether an administrator must approve the device. */
  readonly isPending: boolean;
}

/** The machine as the server reads it from a form. */
function formOf(machine: EnrollingMachine): Record<string, string> {
  return {
    machine: machineName(machine.name),
    os: machineName(machine.os),
    os_version: machineName(machine.osVersion),
    app_version: machine.appVersion,
    hardware_id: machine.hardwareId,
    public_key: machine.publicKey,
  };
}

function enrolledOf(url: string, response: oauth.TokenEndpointResponse): EnrolledMachine {
  const { access_token: token, device, user } = response;
  if (!isNamed(device, "name") || !isNamed(user, "email")) {
    throw new CommandFailure(`${url} sent an unexpected answer.`);
  }
  const isPending = Reflect.get(device, "approval") === "pending";
  return { token, device: device.id, name: device.name, user: user.email, isPending };
}

/** The public key in a form that people can compare, as the page of the server shows it. */
export function keyFingerprint(publicKey: string): string {
  const hash = createHash("sha256").update(Buffer.from(publicKey, "base64")).digest("hex");
  return hash
    .slice(0, 20)
    .toUpperCase()
    .replaceAll(/(.{4})(?=.)/g, "$1-");
}

/** The name of this machine, in the characters that the server accepts. */
export function machineName(name = hostname()): string {
  return name.replaceAll(/[^\p{L}\p{N} ._()+'/,-]/gu, "-").slice(0, 80);
}

/** Reads the public address of the server, which is the issuer of its tokens (RFC 8414). */
async function readIssuer(url: string): Promise<URL> {
  const address = new URL("/.well-known/oauth-authorization-server", url);
  let response: Response;
  try {
    response = await fetch(address, { redirect: "error", signal: AbortSignal.timeout(requestSeconds * 1000) });
  } catch (error) {
    throw unreachable(error, url) ?? failureOf(url, error);
  }
  const metadata: unknown = response.ok ? await response.json().catch(() => undefined) : undefined;
  const issuer = typeof metadata === "object" && metadata !== null ? Reflect.get(metadata, "issuer") : undefined;
  if (typeof issuer === "string" && URL.canParse(issuer)) return new URL(issuer);
  throw new CommandFailure(`${new URL(url).origin} does not offer sign-in for the command line.`, {
    details: ["Set the address of Gatehouse with --url or GATEHOUSE_URL."],
  });
}

function contextOf(url: string, response: oauth.TokenEndpointResponse): Context {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds = 0 } = response;
  const { user, tenant, session_expires_at: sessionExpiresAt } = response;
  if (
    !isNamed(user, "email") ||
    !isNamed(tenant, "name") ||
    typeof sessionExpiresAt !== "string" ||
    refreshToken === undefined
  ) {
    throw new CommandFailure(`${url} sent an unexpected answer.`);
  }
  const accessExpiresAt = new Date(Date.now() + seconds * 1000).toISOString();
  return { url, user, tenant, accessToken, accessExpiresAt, refreshToken, sessionExpiresAt };
}

function isNamed<Name extends string>(
  value: unknown,
  name: Name,
): value is { readonly id: string } & Record<Name, string> {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof Reflect.get(value, "id") === "string" &&
    typeof Reflect.get(value, name) === "string"
  );
}

function withTimeLimit(signal: AbortSignal | undefined): AbortSignal {
  const limit = AbortSignal.timeout(browserMs);
  return signal === undefined ? limit : AbortSignal.any([limit, signal]);
}

async function reported<T>(url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failureOf(url, error);
  }
}

/** The failure to show to the user. Messages of the library do not contain tokens. */
function failureOf(url: string, error: unknown): unknown {
  if (error instanceof CommandFailure) return error;
  if (error instanceof oauth.ResponseBodyError || error instanceof oauth.AuthorizationResponseError) {
    if (error.error === "access_denied") return new CommandFailure("The sign-in was refused in the browser.");
    const reason = error.error_description ?? error.error;
    return new CommandFailure(`The sign-in failed: ${reason}`, { details: ["Run the command again."] });
  }
  if (error instanceof Error && error.name === "TimeoutError") {
    return new CommandFailure("Nobody approved the sign-in in time.", { details: ["Run the command again."] });
  }
  if (error instanceof Error) {
    return new CommandFailure(`Cannot sign in at ${new URL(url).origin}: ${error.message}.`, {
      details: ["Start Gatehouse with gatehouse serve, or set its address with --url or GATEHOUSE_URL."],
    });
  }
  return error;
}
