/** An OpenID provider that signs correct tokens, unless a test changes one part of them. */
import {
  createHash,
  createHmac,
  generateKeyPairSync,
  type KeyObject,
  type KeyPairKeyObjectResult,
  randomBytes,
  sign,
} from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

type Fields = Record<string, unknown>;

/** Deviations from a correct provider. A function receives the correct value. */
export interface Deviations {
  readonly metadata?: (correct: Fields) => Fields;
  readonly header?: (correct: Fields) => Fields;
  readonly claims?: (correct: Fields) => Fields;
  /** Changes the signed token. */
  readonly idToken?: (correct: string) => string | undefined;
  readonly userInfo?: (correct: Fields) => Fields;
  /** Signs with another key than the published one. */
  readonly signingKey?: KeyObject;
  /** Replaces the published keys. */
  readonly keys?: (correct: Fields) => readonly Fields[];
  readonly tokenResponse?: (correct: Fields) => Fields;
  readonly tokenStatus?: number;
  /** Changes the parameters with which the browser returns. */
  readonly callback?: (correct: URLSearchParams) => void;
  /** Replaces any answer. */
  readonly answer?: (path: string, response: ServerResponse) => boolean;
}

/** Deviations from a correct logout token. Undefined removes a claim. */
export interface LogoutTokenChanges {
  readonly header?: Fields;
  readonly claims?: Fields;
  /** Signs with another key than the published one. */
  readonly key?: KeyObject;
  readonly alg?: string;
}

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout";

type Algorithm = "RS256" | "ES256";

interface ProviderKey {
  readonly kid: string;
  readonly alg: Algorithm;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** RSA keys of all providers in this process, because generating one takes longer than most tests. */
const rsaPairs: KeyPairKeyObjectResult[] = [];
/** The key that no provider uses. The others alternate, so that each rotation changes the key. */
const otherPair = 0;
const rotatedPairs = 3;

/** @param number of the RSA key */
function keyOf(number: number, alg: Algorithm = "RS256"): ProviderKey {
  const kid = randomBytes(6).toString("hex");
  if (alg === "ES256") return { kid, alg, ...generateKeyPairSync("ec", { namedCurve: "P-256" }) };
  const pair = rsaPairs[number] ?? generateKeyPairSync("rsa", { modulusLength: 2048 });
  rsaPairs[number] = pair;
  return { kid, alg, ...pair };
}

const accessToken = "access-token-of-the-provider";

export class HostileProvider {
  readonly clientId = "gatehouse";
  readonly clientSecret = "a secret with : and ü";
  readonly #server: Server;
  deviations: Deviations = {};
  /** Parameters of the latest authorization request. */
  #request = new URLSearchParams();
  #rotations = 0;
  #key = keyOf(1);
  #code = "";
  /** The bodies of the requests for tokens. */
  readonly tokenRequests: URLSearchParams[] = [];
  /** The latest header Authorization, by path. */
  readonly authorizations = new Map<string, string | undefined>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<HostileProvider> {
    const server = createServer();
    const provider = new HostileProvider(server);
    server.on("request", (request, response) => void provider.#serve(request, response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`; // of a server that listens on TCP
  }

  /** A key that signs nothing that anyone should accept. */
  static otherKey(alg?: Algorithm): KeyObject {
    return keyOf(otherPair, alg).privateKey;
  }

  /** A key that a provider can publish beside its own one. */
  static otherPublicKey(): Fields {
    return { ...keyOf(otherPair).publicKey.export({ format: "jwk" }), use: "sig", alg: "RS256" };
  }

  /** Replaces the signing key. The old one is no longer published. */
  rotateKey(alg?: Algorithm): void {
    this.#rotations += 1;
    this.#key = keyOf(1 + (this.#rotations % rotatedPairs), alg);
  }

  /** Authenticates the person. @returns the address at which the browser returns */
  approve(authorization: URL): URL {
    this.#request = authorization.searchParams;
    this.#code = randomBytes(16).toString("hex");
    const callback = new URL(this.#request.get("redirect_uri") ?? "");
    const parameters = new URLSearchParams({
      code: this.#code,
      state: this.#request.get("state") ?? "",
      iss: this.issuer,
    });
    this.deviations.callback?.(parameters);
    callback.search = parameters.toString();
    return callback;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", this.issuer).pathname;
    const body = await text(request);
    this.authorizations.set(path, request.headers.authorization);
    if (this.deviations.answer?.(path, response) === true) return;
    if (path === "/.well-known/openid-configuration") return reply(response, this.#metadata());
    if (path === "/jwks") {
      const jwk = this.#key.publicKey.export({ format: "jwk" });
      const correct = { ...jwk, kid: this.#key.kid, use: "sig", alg: this.#key.alg };
      return reply(response, { keys: this.deviations.keys?.(correct) ?? [correct] });
    }
    if (path === "/authorize") {
      response.writeHead(302, { location: this.approve(new URL(request.url ?? "/", this.issuer)).href }).end();
      return;
    }
    if (path === "/token") return this.#serveToken(new URLSearchParams(body), response);
    const correct = { sub: "subject-1", email: "ada@example.com", email_verified: true, groups: ["Engineers"] };
    reply(response, this.deviations.userInfo?.(correct) ?? correct);
  }

  #serveToken(request: URLSearchParams, response: ServerResponse): void {
    this.tokenRequests.push(request);
    const challenge = createHash("sha256")
      .update(request.get("code_verifier") ?? "")
      .digest("base64url");
    const valid = request.get("code") === this.#code && challenge === this.#request.get("code_challenge");
    if (!valid) {
      reply(response, { error: "invalid_grant" }, 400);
      return;
    }
    const correct = { access_token: accessToken, token_type: "Bearer", expires_in: 60, id_token: this.#idToken() };
    reply(response, this.deviations.tokenResponse?.(correct) ?? correct, this.deviations.tokenStatus);
  }

  #metadata(): Fields {
    const correct = {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      jwks_uri: `${this.issuer}/jwks`,
      userinfo_endpoint: `${this.issuer}/userinfo`,
      end_session_endpoint: `${this.issuer}/end`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: [this.#key.alg],
      authorization_response_iss_parameter_supported: true,
    };
    return this.deviations.metadata?.(correct) ?? correct;
  }

  #idToken(): string | undefined {
    const now = Math.floor(Date.now() / 1000);
    const hash = createHash("sha256").update(accessToken).digest();
    const claims = {
      iss: this.issuer,
      sub: "subject-1",
      aud: this.clientId,
      nonce: this.#request.get("nonce"),
      iat: now,
      exp: now + 300,
      auth_time: now - 5,
      at_hash: hash.subarray(0, 16).toString("base64url"),
    };
    const header = { alg: this.#key.alg, typ: "JWT", kid: this.#key.kid };
    const token = signToken(
      this.deviations.header?.(header) ?? header,
      this.deviations.claims?.(claims) ?? claims,
      this.deviations.signingKey ?? this.#key.privateKey,
    );
    return this.deviations.idToken === undefined ? token : this.deviations.idToken(token);
  }

  /** A logout token for the person and the session `session-1`. */
  logoutToken({ header = {}, claims = {}, key, alg = "RS256" }: LogoutTokenChanges = {}): string {
    const now = Math.floor(Date.now() / 1000);
    const correct = {
      iss: this.issuer,
      aud: this.clientId,
      iat: now,
      exp: now + 120,
      jti: randomBytes(12).toString("hex"),
      sub: "subject-1",
      sid: "session-1",
      events: { [logoutEvent]: {} },
    };
    return signToken(
      { alg, typ: "logout+jwt", kid: this.#key.kid, ...header },
      { ...correct, ...claims },
      key ?? this.#key.privateKey,
    );
  }

  /** Signs with the client's secret, which attackers with the secret of another client may know. */
  signedWithSecret(claims: Fields): string {
    const input = `${encoded({ alg: "HS256" })}.${encoded(claims)}`;
    return `${input}.${createHmac("sha256", this.clientSecret).update(input).digest("base64url")}`;
  }
}

function signToken(header: Fields, claims: Fields, key: KeyObject): string {
  const input = `${encoded(header)}.${encoded(claims)}`;
  return `${input}.${sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}

function encoded(value: Fields): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function reply(response: ServerResponse, body: Fields, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
