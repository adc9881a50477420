/**
 * A table of hostile providers, after the relying-party modules of the OpenID conformance suite. Each case changes one
 * part of a provider that otherwise works.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { allowedNetworks } from "../../platform/outbound/outbound-networks.ts";
import { performExchange } from "../../platform/outbound/perform-exchange.ts";
import { type Deviations, HostileProvider } from "../../testing/hostile-provider.ts";
import {
  finishSignIn,
  type Provider,
  SignInFailure,
  type SignInSecrets,
  signOutUrl,
  startSignIn,
} from "./relying-party.ts";

const access = {
  tenantId: "acme",
  networks: allowedNetworks(["127.0.0.0/8"]),
  exchange: performExchange,
  timeoutMs: 30_000,
};
const redirectUri = "https://gatehouse.example.com/sign-in/callback";
let hostile: HostileProvider;

beforeAll(async () => {
  hostile = await HostileProvider.start();
});
beforeEach(() => {
  hostile.deviations = {};
});
afterAll(() => hostile.close());

function provider(changes: Partial<Provider> = {}): Provider {
  const { issuer, clientId, clientSecret } = hostile;
  return { issuer, clientId, clientSecret, scopes: ["email"], groupsClaim: "groups", ...changes };
}

interface Attempt {
  readonly changes?: Partial<Provider>;
  readonly maxAgeSeconds?: number;
  /** Changes what the browser holds. */
  readonly secrets?: (correct: SignInSecrets) => SignInSecrets;
}

async function signIn({ changes, maxAgeSeconds, secrets = (correct) => correct }: Attempt = {}) {
  const started = await startSignIn(provider(changes), access, { redirectUri, maxAgeSeconds });
  const callback = hostile.approve(started.url);
  return finishSignIn(provider(changes), access, callback, secrets(started.secrets));
}

async function failure(attempt: Attempt = {}): Promise<SignInFailure> {
  const error = await signIn(attempt).then(
    (identity) => new Error(`${identity.subject} signed in`),
    (thrown: unknown) => thrown,
  );
  if (error instanceof SignInFailure) return error;
  throw error;
}

describe("a correct provider", () => {
  test("identifies the person, with claims of UserInfo", async () => {
    expect(await signIn()).toEqual({
      issuer: hostile.issuer,
      subject: "subject-1",
      email: "ada@example.com",
      emailVerified: true,
      firstName: undefined,
      lastName: undefined,
      groups: ["Engineers"],
      groupOverage: false,
      acr: undefined,
      amr: [],
      authTime: expect.any(Date),
      session: undefined,
      sessionExpiresAt: undefined,
      idToken: expect.stringMatching(/^eyJ/),
    });
    expect(hostile.tokenRequests.at(-1)?.get("redirect_uri")).toBe(redirectUri);
  });

  test("is asked with PKCE, state, nonce and the age of the authentication", async () => {
    const { url } = await startSignIn(provider(), access, {
      redirectUri,
      maxAgeSeconds: 900,
      loginHint: "a@example.com",
    });
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: "gatehouse",
      response_type: "code",
      redirect_uri: redirectUri,
      scope: "openid email",
      state: expect.stringMatching(/^.{43}$/),
      nonce: expect.stringMatching(/^.{43}$/),
      code_challenge: expect.stringMatching(/^.{43}$/),
      code_challenge_method: "S256",
      max_age: "900",
      login_hint: "a@example.com",
    });
  });

  test("can replace its key between two sign-ins", async () => {
    await signIn();
    hostile.rotateKey();
    expect(await signIn()).toMatchObject({ subject: "subject-1" });
  });

  test("can differ by less than 60 seconds in its clock", async () => {
    hostile.deviations = { claims: (claims) => ({ ...claims, exp: Number(claims.iat) - 30 }) };
    expect(await signIn()).toMatchObject({ subject: "subject-1" });
  });

  test.each<[string, (claims: Record<string, unknown>, seconds: number) => object]>([
    ["expired", ({ iat, ...claims }, seconds) => ({ ...claims, iat, exp: Number(iat) - seconds })],
    ["is valid only later", ({ iat, ...claims }, seconds) => ({ ...claims, iat, nbf: Number(iat) + seconds })],
  ])("can send a token that %s by up to 60 seconds, and no more", async (_what, change) => {
    hostile.deviations = { claims: (claims) => ({ ...change(claims, 50) }) };
    expect(await signIn()).toMatchObject({ subject: "subject-1" });
    hostile.deviations = { claims: (claims) => ({ ...change(claims, 70) }) };
    expect(await failure()).toMatchObject({ code: "token_invalid" });
  });

  test("can put all claims in the ID token", async () => {
    const given = {
      email: "b@example.com",
      groups: "One",
      given_name: "Ada",
      family_name: "Lovelace",
      acr: "phr",
      amr: ["hwk", "hwk", 7],
      sid: "session-1",
      session_expiry: 1_800_000_000,
    };
    hostile.deviations = { claims: (claims) => ({ ...claims, ...given }) };
    expect(await signIn()).toMatchObject({
      email: "b@example.com",
      emailVerified: false,
      groups: ["One"],
      firstName: "Ada",
      lastName: "Lovelace",
      acr: "phr",
      amr: ["hwk"],
      session: "session-1",
      sessionExpiresAt: new Date("2027-01-15T08:00:00Z"),
    });
  });

  test("does not verify an address with the text true", async () => {
    hostile.deviations = { userInfo: (claims) => ({ ...claims, email_verified: "true" }) };
    expect(await signIn()).toMatchObject({ emailVerified: false });
  });

  test.each<[string, boolean, object, object]>([
    ["without a flag, and UserInfo has the flag of the same address", true, { email: "a@example.com" }, {}],
    ["that is not verified, and UserInfo says otherwise", false, { email: "a@example.com", email_verified: false }, {}],
    ["without a flag, and UserInfo has another address", false, { email: "b@example.com" }, {}],
    ["without a flag, and UserInfo has no address", false, { email: "a@example.com" }, { email: undefined }],
    ["that is missing, beside a flag", false, { email_verified: true }, { email_verified: false }],
    ["that is missing, and UserInfo has both", true, { email_verified: false }, {}],
    ["that nobody sent, beside flags", false, { email_verified: true }, { email: undefined }],
  ])("sends an ID token with an address %s", async (_what, emailVerified, idToken, userInfo) => {
    hostile.deviations = {
      claims: (correct) => ({ ...correct, ...idToken }),
      userInfo: (correct) => ({ ...correct, email: "a@example.com", ...userInfo }),
    };
    expect(await signIn()).toMatchObject({ emailVerified });
  });

  test("describes the authentication and the session only in the ID token", async () => {
    hostile.deviations = {
      claims: ({ auth_time: _none, ...correct }) => correct,
      userInfo: (info) => ({ ...info, sid: "a", acr: "a", amr: ["hwk"], auth_time: 1, session_expiry: 1 }),
    };
    expect(await signIn()).toMatchObject({
      ...{ session: undefined, acr: undefined, amr: [] },
      ...{ authTime: undefined, sessionExpiresAt: undefined },
    });
  });

  test.each(["a\u0000b", "a\r\nb", "a\u001b[31m", "a\ud800b", "a\u2028b"])(
    "sends no claim that the database or a list cannot show: %j",
    async (text) => {
      const names = { given_name: text, family_name: text, email: `${text}@example.com`, groups: [text, "One"] };
      hostile.deviations = {
        claims: (correct) => ({ ...correct, amr: [text, "hwk"], acr: text, sid: text }),
        userInfo: (info) => ({ ...info, ...names }),
      };
      expect(await signIn()).toMatchObject({
        email: undefined,
        firstName: undefined,
        lastName: undefined,
        groups: ["One"],
        amr: ["hwk"],
        acr: undefined,
        session: undefined,
      });
    },
  );

  test("can be in more groups than the provider sends, which is not the same as no groups", async () => {
    const overage = { email: "b@example.com", _claim_names: { groups: "src1" }, _claim_sources: { src1: {} } };
    hostile.deviations = { claims: (claims) => ({ ...claims, ...overage }) };
    expect(await signIn()).toMatchObject({ groups: undefined, groupOverage: true });
    hostile.deviations = {
      userInfo: (claims) => ({ ...claims, groups: Array.from({ length: 1_001 }, (_none, index) => `${index}`) }),
    };
    expect(await signIn()).toMatchObject({ groups: undefined, groupOverage: true });
  });
});

const claims = (changes: object): Deviations => ({ claims: (correct) => ({ ...correct, ...changes }) });
const without = (name: string): Deviations => ({
  claims: (correct) => Object.fromEntries(Object.entries(correct).filter(([key]) => key !== name)),
});
const subject = (sub: string): Deviations => ({ ...claims({ sub }), userInfo: (info) => ({ ...info, sub }) });
const long = Math.floor(Date.now() / 1000);

/** Every answer of the provider is this text. */
function answerOf(body: string): NonNullable<Deviations["answer"]> {
  return (_path, response) => response.writeHead(200, { "content-type": "application/json" }).end(body) !== undefined;
}

describe("a sign-in fails closed if", () => {
  test.each<[string, Deviations, RegExp]>([
    ["the issuer of the token is another one", claims({ iss: "https://other.example.com" }), /"iss"/],
    ["the token has no issuer", without("iss"), /"iss"/],
    ["the token is for another client", claims({ aud: "other" }), /"aud"/],
    ["the token is for several clients", claims({ aud: ["gatehouse", "other"], azp: "gatehouse" }), /"aud"/],
    ["the token has no audience", without("aud"), /"aud"/],
    ["the token was issued to another client", claims({ azp: "other" }), /"azp"/],
    ["the nonce is another one", claims({ nonce: "other" }), /"nonce"/],
    ["the nonce is missing", without("nonce"), /"nonce"/],
    ["the token has expired", claims({ exp: long - 120 }), /"exp"/],
    ["the token never expires", without("exp"), /"exp"/],
    ["the token has no issue time", without("iat"), /"iat"/],
    ["the issue time is text", claims({ iat: "today" }), /"iat"/],
    ["the token is valid only later", claims({ nbf: long + 600 }), /"nbf"/],
    ["the token has no subject", without("sub"), /"sub"/],
    ["the subject is a number", claims({ sub: 7 }), /"sub"/],
    ["the token belongs to another access token", claims({ at_hash: "AAAAAAAAAAAAAAAAAAAAAA" }), /"at_hash"/],
    ["the end of the session is text", claims({ session_expiry: "2027-01-15" }), /"session_expiry"/],
    ["the end of the session is not a time", claims({ session_expiry: -1 }), /"session_expiry"/],
    ["the hash of the access token is a number", claims({ at_hash: 1 }), /"at_hash"/],
    ["another key has signed the token", { signingKey: HostileProvider.otherKey() }, /signature/],
    ["the key is unknown", { header: (header) => ({ ...header, kid: "unknown" }) }, /key/],
    [
      "the algorithm is none",
      { header: () => ({ alg: "none" }), idToken: (t) => t?.replace(/[^.]*$/, "") },
      /"alg"|JWS|signature/,
    ],
    ["the algorithm is not the provider's", { header: (header) => ({ ...header, alg: "PS256" }) }, /"alg"/],
    ["the token has a critical extension", { header: (header) => ({ ...header, crit: ["b64"] }) }, /"crit"|extension/],
    ["the token is changed", { idToken: (token) => token.replace(/\.[^.]*\./, ".e30.") }, /./],
    ["the token has two parts", { idToken: (token) => token.split(".").slice(0, 2).join(".") }, /JWT/],
    ["the ID token is missing", { idToken: () => undefined }, /id_token/],
    ["UserInfo is of another person", { userInfo: (info) => ({ ...info, sub: "subject-2" }) }, /"sub"/],
    ["the subject is longer than 255 characters", subject("s".repeat(256)), /"sub"/],
    ["the subject has a control character", subject("a\u0000b"), /"sub"/],
    ["the subject has half of a surrogate pair", subject("a\ud800b"), /"sub"/],
    ["UserInfo has no subject", { userInfo: () => ({ email: "a@example.com" }) }, /"sub"/],
    ["the token type is not Bearer", { tokenResponse: (body) => ({ ...body, token_type: "mac" }) }, /token_type/],
    [
      "the access token is missing",
      { tokenResponse: ({ id_token }) => ({ id_token, token_type: "Bearer" }) },
      /access_token/,
    ],
  ])("%s", async (_what, deviations, message) => {
    hostile.deviations = deviations;
    expect(await failure()).toMatchObject({ code: "token_invalid", message: expect.stringMatching(message) });
  });

  test("the token is signed with the client's secret", async () => {
    hostile.deviations = {
      idToken: (token) => {
        const payload: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
        return hostile.signedWithSecret(payload as Record<string, unknown>);
      },
    };
    expect(await failure()).toMatchObject({ code: "token_invalid", message: expect.stringContaining("alg") });
  });

  test.each<[string, Attempt, Deviations]>([
    ["the person authenticated too long ago", { maxAgeSeconds: 60 }, claims({ auth_time: long - 600 })],
    ["the person authenticated in the future", { maxAgeSeconds: 60 }, claims({ auth_time: long + 86_400 })],
    ["the time of authentication is missing", { maxAgeSeconds: 60 }, without("auth_time")],
    ["the time of authentication is text", { maxAgeSeconds: 60 }, claims({ auth_time: "now" })],
  ])("%s", async (_what, attempt, deviations) => {
    hostile.deviations = deviations;
    expect(await failure(attempt)).toMatchObject({
      code: "token_invalid",
      message: expect.stringMatching(/auth_time|too much time/),
    });
  });

  test.each<[string, (parameters: URLSearchParams) => void]>([
    ["the state is another one", (parameters) => parameters.set("state", "other")],
    ["the state is missing", (parameters) => parameters.delete("state")],
    ["the state is sent twice", (parameters) => parameters.append("state", "other")],
    ["another provider answers", (parameters) => parameters.set("iss", "https://other.example.com")],
    ["the answer does not name its provider", (parameters) => parameters.delete("iss")],
    ["an ID token comes through the browser", (parameters) => parameters.set("id_token", "token")],
  ])("%s", async (_what, callback) => {
    hostile.deviations = { callback };
    const requests = hostile.tokenRequests.length;
    expect(await failure()).toMatchObject({ code: expect.stringMatching(/^(response|token)_invalid$/) });
    expect(hostile.tokenRequests).toHaveLength(requests);
  });

  test.each<[string, (correct: SignInSecrets) => SignInSecrets]>([
    ["the browser holds another state", (secrets) => ({ ...secrets, state: "other" })],
    ["the browser holds another nonce", (secrets) => ({ ...secrets, nonce: "other" })],
    ["the browser holds another code verifier", (secrets) => ({ ...secrets, codeVerifier: "v".repeat(43) })],
  ])("%s", async (_what, secrets) => {
    await failure({ secrets });
  });

  test("the provider refuses", async () => {
    hostile.deviations = {
      callback: (parameters) => {
        parameters.delete("code");
        parameters.set("error", "access_denied");
      },
    };
    expect(await failure()).toMatchObject({
      code: "provider_refused",
      message: 'the provider answered "access_denied"',
    });
  });

  test("the metadata is of another issuer", async () => {
    hostile.deviations = { metadata: (metadata) => ({ ...metadata, issuer: "https://other.example.com" }) };
    expect(await failure()).toMatchObject({
      code: "provider_misconfigured",
      message: expect.stringContaining("issuer"),
    });
  });

  test.each<[string, Deviations["answer"]]>([
    ["the metadata is long, with few values", answerOf(`{"x":"${"[{,".repeat(50_000)}"}`)],
    ["the metadata is not JSON", (_path, response) => response.writeHead(200).end("<html>") !== undefined],
    ["the metadata is a redirect", (_path, response) => response.writeHead(302, { location: "/" }).end() !== undefined],
    ["the metadata is missing", (_path, response) => response.writeHead(404).end() !== undefined],
  ])("%s", async (_what, answer) => {
    hostile.deviations = { answer: answer as NonNullable<Deviations["answer"]> };
    expect(await failure()).toMatchObject({ code: "provider_misconfigured" });
  });

  test.each<[string, NonNullable<Deviations["answer"]>, RegExp, timeoutMs?: number]>([
    ["the provider closes the connection", (_path, response) => response.destroy() !== undefined, /closed/],
    [
      "an answer is too long",
      (_path, response) => response.writeHead(200).end(Buffer.alloc(300 * 1024)) !== undefined,
      /256 KiB/,
    ],
    ["an answer has too many values", answerOf(`{"x":[${"{},".repeat(5_000)}1]}`), /5000 JSON values/],
    ["an answer is deep", answerOf("[".repeat(6_000)), /5000 JSON values/],
    ["the provider does not answer", () => true, /no response within/, 200],
  ])("%s", async (_what, answer, message, timeoutMs = access.timeoutMs) => {
    hostile.deviations = { answer };
    await expect(startSignIn(provider(), { ...access, timeoutMs }, { redirectUri })).rejects.toMatchObject({
      code: "provider_unreachable",
      message: expect.stringMatching(message),
    });
  });

  test("the provider is in a network that nobody allowed, and no connection is opened", async () => {
    hostile.deviations = {
      answer: () => {
        throw new Error("reached");
      },
    };
    await expect(startSignIn(provider(), { ...access, networks: [] }, { redirectUri })).rejects.toMatchObject({
      code: "provider_unreachable",
      message:
        "the provider is unreachable: the host has no address that Gatehouse can connect to, or its name cannot be resolved",
    });
  });
});

test("a long challenge of a provider is not parsed, because parsing takes quadratic time", async () => {
  hostile.deviations = {
    answer: (path, response) =>
      path === "/token" && response.writeHead(401, { "www-authenticate": "a,".repeat(1_000) }).end() !== undefined,
  };
  // A challenge would be refused with another code.
  expect(await failure()).toMatchObject({ code: "token_invalid", message: expect.stringContaining("unexpected") });
});

test.each(["javascript:alert(1)", "data:text/html,a", "ftp://127.0.0.1/authorize", "no address"])(
  "the provider's page can be only at an HTTP address: %s",
  async (page) => {
    hostile.deviations = { metadata: (correct) => ({ ...correct, authorization_endpoint: page }) };
    await expect(startSignIn(provider(), access, { redirectUri })).rejects.toMatchObject({
      code: "provider_misconfigured",
    });
    hostile.deviations = { metadata: (correct) => ({ ...correct, end_session_endpoint: page }) };
    await expect(signOutUrl(provider(), access, { redirectUri, idToken: undefined })).rejects.toMatchObject({
      code: "provider_misconfigured",
    });
  },
);

test("a message about a binary answer can be stored", async () => {
  hostile.deviations = {
    answer: (path, response) =>
      path === "/token" &&
      response.writeHead(200, { "content-type": "application/json" }).end("\u001f\u0000\u0008") !== undefined,
  };
  const { message } = await failure();
  expect(message).not.toMatch(/\p{Cc}/u);
});

test("messages of failures contain no token, code or secret", async () => {
  hostile.deviations = { signingKey: HostileProvider.otherKey() };
  const { message } = await failure();
  expect(message).not.toMatch(/eyJ|access-token|a secret/);
});
