import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publicKey, unique } from "../../testing/operations/test-records.ts";
import { activeUser, personClient, signInAs } from "../../testing/signed-in-person.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { startTestServer, type TestReply, type TestServer, type TestTenant } from "../../testing/test-server.ts";

const minuteMs = 60_000;
const redirectUri = "http://127.0.0.1:49152/callback";
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
const clock = new TestClock();
let server: TestServer;
let tenant: TestTenant;
let addresses = 0;

beforeAll(async () => {
  // Each test comes from addresses of its own, because failures count for an address.
  const settings = { trustedProxies: ["127.0.0.1"], rateLimits: { perMinute: 0, authFailures: 20, shared: false } };
  server = await startTestServer({ clock, settings });
  tenant = await server.newTenant();
});
afterAll(() => server.close());

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what a body holds is what the tests find out
  readonly body: any;
}

/** A program: calls the endpoints of the authorization server from an address of its own. */
class Program {
  readonly verifier = randomBytes(32).toString("base64url");
  readonly state = randomBytes(16).toString("base64url");
  address: string;

  constructor() {
    addresses += 1;
    this.address = `2001:db8:0:${addresses.toString(16)}::1`;
  }

  /** The request that the program opens in the browser. */
  request(changes: Readonly<Record<string, string>> = {}): Record<string, string> {
    return {
      response_type: "code",
      client_id: "gatehouse-cli",
      redirect_uri: redirectUri,
      state: this.state,
      code_challenge: createHash("sha256").update(this.verifier).digest("base64url"),
      code_challenge_method: "S256",
      machine: "build-1",
      ...changes,
    };
  }

  async post(path: string, form: Readonly<Record<string, string>> | string, headers: object = {}): Promise<Answer> {
    const response = await server.app.inject({
      method: "POST",
      url: path,
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        "x-forwarded-for": this.address,
        ...headers,
      },
      payload: typeof form === "string" ? form : new URLSearchParams(form).toString(),
    });
    expect(response.headers["cache-control"]).toBe("no-store");
    return { status: response.statusCode, body: response.json() };
  }

  exchange(code: string, changes: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const form = { grant_type: "authorization_code", client_id: "gatehouse-cli", code, redirect_uri: redirectUri };
    return this.post("/oauth/token", { ...form, code_verifier: this.verifier, ...changes });
  }

  refresh(token: string, clientId = "gatehouse-cli"): Promise<Answer> {
    return this.post("/oauth/token", { grant_type: "refresh_token", client_id: clientId, refresh_token: token });
  }

  async requestDevice(changes: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.post("/oauth/device_authorization", { client_id: "gatehouse-cli", machine: "build-1", ...changes });
  }

  poll(deviceCode: string, clientId = "gatehouse-cli"): Promise<Answer> {
    return this.post("/oauth/token", { grant_type: deviceGrant, client_id: clientId, device_code: deviceCode });
  }
}

/** A person with a session in a browser. */
async function personWith(roles: readonly string[] = ["ADMIN"]) {
  const user = await activeUser(server, tenant, `${randomBytes(8).toString("hex")}@example.com`, roles);
  const headers = await signInAs(server, tenant.id, user.id);
  addresses += 1;
  const from = { "x-forwarded-for": `2001:db8:1:${addresses.toString(16)}::1` };
  const post = (path: string, body: object, more: object = {}): Promise<TestReply> =>
    personClient(server, headers).send("POST", path, body, { ...from, ...more });
  return {
    user,
    headers,
    post,
    client: personClient(server, headers),
    approve: (request: object, approve = true) => post("/console/authorization", { request, approve }),
    answer: (code: string, approve = true) => post("/console/device-authorization", { code, approve }),
  };
}

/** Signs a program in for a new person. */
async function signedIn(roles?: readonly string[]) {
  const [program, person] = [new Program(), await personWith(roles)];
  const code = codeOf(await person.approve(program.request()));
  const { status, body } = await program.exchange(code);
  expect(status, JSON.stringify(body)).toBe(200);
  return { program, person, code, tokens: body };
}

function codeOf({ body, text }: TestReply): string {
  const code = new URL(body?.redirectTo ?? "about:blank").searchParams.get("code");
  expect(code, text).toBeTruthy();
  return code ?? "";
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const usersWith = (token: string) => server.client(undefined).get("/tenants/users", bearer(token));
const failuresOf = async (userId: string): Promise<readonly string[]> => {
  const { body } = await tenant.client.must.get(
    `/tenants/sign-ins?filter[user.id]=${userId}&filter[outcome]=failed&limit=100`,
  );
  return body.data.map(({ reason }: { reason: string }) => reason);
};

test("the metadata names endpoints at the public address, and no weaker ways", async () => {
  const { statusCode, json } = await server.app.inject("/.well-known/oauth-authorization-server");
  expect(statusCode).toBe(200);
  const metadata = json();
  expect(metadata).toMatchObject({
    issuer: "http://localhost:8080",
    authorization_endpoint: "http://localhost:8080/console/authorize",
    code_challenge_methods_supported: ["S256"],
    response_types_supported: ["code"],
    token_endpoint_auth_methods_supported: ["none"],
  });
});

describe("the authorization code", () => {
  test("gives tokens that work wherever keys do, in a session of the person", async () => {
    const { person, tokens } = await signedIn();
    expect(tokens).toMatchObject({ token_type: "Bearer", expires_in: 600, user: { email: person.user.email } });
    expect((await usersWith(tokens.access_token)).status).toBe(200);
    expect((await server.client(tokens.access_token).get("/tenants/users")).status).toBe(200);
    const { body } = await server.client(tokens.access_token).get("/tenants/sessions?sort=createdAt&limit=100");
    const current = body.data.find((session: { current: boolean }) => session.current);
    expect(current).toMatchObject({ client: "cli", user: { id: person.user.id }, method: "passkey" });
    expect(current.userAgent).toBe("Gatehouse command line on build-1");
    const made = await server.client(tokens.access_token).post("/tenants/groups", { name: unique("Group") });
    expect(made.status, made.text).toBe(201);
    const { body: events } = await tenant.client.must.get(`/tenants/events?filter[target.id]=${made.body.id}`);
    expect(events.data[0].actor).toEqual({ type: "user", id: person.user.id, name: person.user.email });
  });

  test("returns to the program with state and issuer, also when the person refuses", async () => {
    const [program, person] = [new Program(), await personWith()];
    const { body } = await person.approve(program.request(), false);
    const url = new URL(body.redirectTo);
    expect(url.origin + url.pathname).toBe(redirectUri);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      error: "access_denied",
      state: program.state,
      iss: "http://localhost:8080",
    });
  });

  test.each<[string, Record<string, string>]>([
    ["another host", { redirect_uri: "https://example.net/callback" }],
    ["a host that begins like the loopback address", { redirect_uri: "http://127.0.0.1.example.net:80/callback" }],
    ["the loopback address as user name", { redirect_uri: "http://127.0.0.1:80@example.net/callback" }],
    ["a name that can resolve elsewhere", { redirect_uri: "http://localhost:49152/callback" }],
    ["another path", { redirect_uri: "http://127.0.0.1:49152/callback/../other" }],
    ["a fragment", { redirect_uri: `${redirectUri}#x` }],
    ["a query", { redirect_uri: `${redirectUri}?x=1` }],
    ["another scheme", { redirect_uri: "javascript://127.0.0.1:1/callback" }],
    ["port 0", { redirect_uri: "http://127.0.0.1:0/callback" }],
    ["a port out of range", { redirect_uri: "http://127.0.0.1:70000/callback" }],
    ["a line break", { redirect_uri: `${redirectUri}\n` }],
    ["another program", { client_id: "another" }],
    ["a plain challenge", { code_challenge_method: "plain" }],
    ["a short challenge", { code_challenge: "abc" }],
    ["the implicit flow", { response_type: "token" }],
    ["a short state", { state: "1" }],
    ["a machine that turns text around", { machine: "build\u202e1" }],
    ["a machine with markup", { machine: "<b>build</b>" }],
    ["a negative age", { max_age: "-1" }],
  ])("refuses %s, and redirects nowhere", async (_what, changes) => {
    const [program, person] = [new Program(), await personWith()];
    for (const path of ["/console/authorization/description", "/console/authorization"]) {
      const request = program.request(changes);
      const body = path.endsWith("description") ? { request } : { request, approve: true };
      const reply = await person.post(path, body);
      expect({ status: reply.status, code: reply.body.code }).toEqual({ status: 400, code: "invalid_parameter" });
      expect(reply.text).not.toContain("redirectTo");
    }
  });

  test("is exchanged once: the second use ends the session of the first", async () => {
    const { program, person, code, tokens } = await signedIn();
    expect((await program.exchange(code)).body.error).toBe("invalid_grant");
    expect((await usersWith(tokens.access_token)).body.code).toBe("session_ended");
    expect((await program.refresh(tokens.refresh_token)).body.error).toBe("invalid_grant");
    expect(await failuresOf(person.user.id)).toContain(
      "a code of a program was used twice; the program was signed out",
    );
  });

  test("is exchanged at most once by concurrent requests", async () => {
    const [program, person] = [new Program(), await personWith()];
    const code = codeOf(await person.approve(program.request()));
    const answers = await Promise.all([program.exchange(code), program.exchange(code)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  });

  test.each<[string, Record<string, string>, string]>([
    ["a wrong verifier", { code_verifier: "x".repeat(43) }, "the code verifier is wrong"],
    [
      "another redirect address",
      { redirect_uri: "http://127.0.0.1:1/callback" },
      "the redirect address differs from the approved one",
    ],
  ])("with %s is refused, logged and void", async (_what, changes, reason) => {
    const [program, person] = [new Program(), await personWith()];
    const code = codeOf(await person.approve(program.request()));
    const refused = await program.exchange(code, changes);
    expect({ status: refused.status, error: refused.body.error }).toEqual({ status: 400, error: "invalid_grant" });
    expect((await program.exchange(code)).body.error).toBe("invalid_grant");
    expect(await failuresOf(person.user.id)).toContain(reason);
  });

  test("expires after a minute, and with the session in which it was approved", async () => {
    const [program, person] = [new Program(), await personWith()];
    const late = codeOf(await person.approve(program.request()));
    clock.advance(minuteMs);
    expect((await program.exchange(late)).body.error).toBe("invalid_grant");
    const orphan = codeOf(await person.approve(program.request()));
    await tenant.client.must.delete(`/tenants/users/${person.user.id}/sessions`);
    expect((await program.exchange(orphan)).body.error).toBe("invalid_grant");
  });

  test("is not exchanged for an unknown program, or as a device code", async () => {
    const [program, person] = [new Program(), await personWith()];
    const code = codeOf(await person.approve(program.request()));
    const other = await program.exchange(code, { client_id: "another" });
    expect({ status: other.status, error: other.body.error }).toEqual({ status: 401, error: "invalid_client" });
    expect((await program.poll(code)).body.error).toBe("invalid_grant");
  });

  test("requires the age of authentication that the program asks for", async () => {
    const [program, person] = [new Program(), await personWith()];
    clock.advance(11 * minuteMs);
    const refused = await person.approve(program.request({ max_age: "600" }));
    expect(refused.body.code).toBe("recent_authentication_required");
    expect((await person.approve(program.request())).status).toBe(200);
  });

  test("is approved only by a person in a page of this server", async () => {
    const { person, tokens } = await signedIn();
    const request = new Program().request();
    const body = { request, approve: true };
    const crossSite = await person.post("/console/authorization", body, { "sec-fetch-site": "cross-site" });
    expect(crossSite.body.code).toBe("foreign_origin");
    const page = { "sec-fetch-site": "same-origin" };
    const byKey = await server.client(tenant.key).post("/console/authorization", body, page);
    expect(byKey.body.code).toBe("person_required");
    // Otherwise a stolen token could renew itself for ever.
    const byProgram = await server.client(tokens.access_token).post("/console/authorization", body, page);
    expect(byProgram.body.code).toBe("person_required");
    const registers = await server.client(tokens.access_token).post("/console/account/passkeys/options", {}, page);
    expect(registers.body.code).toBe("person_required");
  });
});

describe("the token endpoint", () => {
  test.each<[string, string, string]>([
    ["no grant type", "client_id=gatehouse-cli", "invalid_request"],
    ["another grant type", "client_id=gatehouse-cli&grant_type=password", "unsupported_grant_type"],
    ["a parameter twice", "grant_type=refresh_token&client_id=a&client_id=b&refresh_token=c", "invalid_request"],
    ["no token", "grant_type=refresh_token&client_id=gatehouse-cli", "invalid_request"],
    ["an unknown token", "grant_type=refresh_token&client_id=gatehouse-cli&refresh_token=abc", "invalid_grant"],
    ["an unknown device code", `grant_type=${deviceGrant}&client_id=gatehouse-cli&device_code=abc`, "invalid_grant"],
  ])("refuses %s", async (_what, form, error) => {
    expect((await new Program().post("/oauth/token", form)).body.error).toBe(error);
  });

  test("refuses pages, other content types and long bodies", async () => {
    const program = new Program();
    const form = "grant_type=refresh_token";
    expect((await program.post("/oauth/token", form, { origin: "https://example.net" })).body.error).toBe(
      "invalid_request",
    );
    const response = await server.app.inject({
      method: "POST",
      url: "/oauth/token",
      headers: { "content-type": "application/json" },
      payload: JSON.stringify({ grant_type: "refresh_token" }),
    });
    expect(response.json().error).toBe("invalid_request");
    const long = await server.app.inject({
      method: "POST",
      url: "/oauth/token",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      payload: "a".repeat(5_000),
    });
    expect(long.statusCode).toBe(413);
  });

  test("counts refused grants for the address", async () => {
    const program = new Program();
    for (let tries = 0; tries < 20; tries += 1) await program.refresh("guess");
    expect((await program.refresh("guess")).body.code).toBe("too_many_failed_authentications");
  });
});

describe("an access token", () => {
  test("expires after ten minutes, and is replaced by a refresh", async () => {
    const { program, tokens } = await signedIn();
    clock.advance(10 * minuteMs);
    expect((await usersWith(tokens.access_token)).body.code).toBe("session_ended");
    const { status, body } = await program.refresh(tokens.refresh_token);
    expect(status).toBe(200);
    expect((await usersWith(body.access_token)).status).toBe(200);
  });

  test("is not accepted as a cookie, nor a cookie as an access token", async () => {
    const { person, tokens } = await signedIn();
    const asCookie = await server
      .client(undefined)
      .get("/tenants/users", { cookie: `gatehouse_session=${tokens.access_token}`, "sec-fetch-site": "same-origin" });
    expect(asCookie.body.code).toBe("session_ended");
    const cookie = /=(.*)$/.exec(person.headers.cookie ?? "")?.[1] ?? "";
    expect((await usersWith(cookie)).body.code).toBe("invalid_api_key");
    expect((await usersWith(tokens.refresh_token)).body.code).toBe("invalid_api_key");
  });

  test("does not sign in to the console", async () => {
    const { tokens } = await signedIn();
    const reply = await server.client(tokens.access_token).post("/console/session");
    expect(reply.body.code).toBe("invalid_api_key");
  });

  test("loses its power with the next request when the person does", async () => {
    const { person, tokens, program } = await signedIn();
    await tenant.client.must.patch(`/tenants/users/${person.user.id}/deactivate`);
    expect((await usersWith(tokens.access_token)).body.code).toBe("session_ended");
    expect((await program.refresh(tokens.refresh_token)).body.error).toBe("invalid_grant");
    const nobody = await signedIn([]);
    expect((await usersWith(nobody.tokens.access_token)).body.code).toBe("permission_denied");
  });

  test("is asked for a recent authentication", async () => {
    const { program, person } = await signedIn();
    clock.advance(16 * minuteMs);
    const code = codeOf(await person.approve(program.request()));
    const { body: tokens } = await program.exchange(code);
    const key = { name: "Made by a program", permissions: ["users:read"] };
    const refused = await server.client(tokens.access_token).post("/tenants/api-keys", key);
    expect(refused.body.code).toBe("recent_authentication_required");
    expect(refused.headers["www-authenticate"]).toContain('error="insufficient_user_authentication"');
  });
});

describe("a refresh token", () => {
  test("is replaced by each use, and its second use ends the session", async () => {
    const { program, person, tokens } = await signedIn();
    const { body: second } = await program.refresh(tokens.refresh_token);
    expect(second.refresh_token).not.toBe(tokens.refresh_token);
    expect((await usersWith(tokens.access_token)).body.code).toBe("session_ended");
    expect((await usersWith(second.access_token)).status).toBe(200);
    expect((await program.refresh(tokens.refresh_token)).body.error).toBe("invalid_grant");
    expect((await usersWith(second.access_token)).body.code).toBe("session_ended");
    expect((await program.refresh(second.refresh_token)).body.error).toBe("invalid_grant");
    expect(await failuresOf(person.user.id)).toContain("a refresh token was used twice; the program was signed out");
  });

  test("that two programs use at once ends the session", async () => {
    const { program, tokens } = await signedIn();
    const answers = await Promise.all([program.refresh(tokens.refresh_token), program.refresh(tokens.refresh_token)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    const { body } = answers.find(({ status }) => status === 200) ?? { body: {} };
    expect((await usersWith(body.access_token)).body.code).toBe("session_ended");
  });

  test("of a session that was idle, or has ended, is refused", async () => {
    const { program, tokens } = await signedIn();
    clock.advance(60 * minuteMs);
    expect((await program.refresh(tokens.refresh_token)).body.error).toBe("invalid_grant");
  });

  test("does not outlive the session that approved the program", async () => {
    const [program, person] = [new Program(), await personWith()];
    let { body: tokens } = await program.exchange(codeOf(await person.approve(program.request())));
    const expiresAt = Date.parse(tokens.session_expires_at);
    expect(expiresAt - clock.now().getTime()).toBe(12 * 60 * minuteMs);
    while (clock.now().getTime() < expiresAt - 30 * minuteMs) {
      clock.advance(30 * minuteMs);
      ({ body: tokens } = await program.refresh(tokens.refresh_token));
      expect(tokens.session_expires_at).toBe(new Date(expiresAt).toISOString());
    }
    clock.advance(30 * minuteMs);
    expect((await program.refresh(tokens.refresh_token)).body.error).toBe("invalid_grant");
  });

  test("is revoked with its session, by the program and by sign out everywhere", async () => {
    const [first, second] = [await signedIn(), await signedIn()];
    const form = { client_id: "gatehouse-cli", token: first.tokens.refresh_token };
    expect((await first.program.post("/oauth/revoke", form)).status).toBe(200);
    expect((await usersWith(first.tokens.access_token)).body.code).toBe("session_ended");
    expect((await first.program.post("/oauth/revoke", { ...form, token: "unknown" })).status).toBe(200);
    expect((await second.person.client.delete(`/tenants/users/${second.person.user.id}/sessions`)).status).toBe(204);
    expect((await usersWith(second.tokens.access_token)).body.code).toBe("session_ended");
  });
});

describe("the device grant", () => {
  test("shows the person which machine asks from where and since when, and gives tokens", async () => {
    const [program, person] = [new Program(), await personWith()];
    const { body: codes } = await program.requestDevice();
    expect(codes).toMatchObject({
      expires_in: 600,
      interval: 5,
      verification_uri: "http://localhost:8080/console/code",
    });
    expect(codes.user_code).toMatch(/^[B-Z]{4}-[B-Z]{4}$/);
    expect((await program.poll(codes.device_code)).body.error).toBe("authorization_pending");
    expect((await program.poll(codes.device_code)).body.error).toBe("slow_down");
    clock.advance(2 * minuteMs);
    const typed = codes.user_code.toLowerCase().replace("-", " ");
    const { body: shown } = await person.post("/console/device-authorization/description", { code: typed });
    expect(shown).toEqual({
      name: "Gatehouse command line",
      machine: "build-1",
      address: program.address,
      sameAddress: false,
      requestedAt: new Date(clock.now().getTime() - 2 * minuteMs).toISOString(),
      expiresAt: new Date(clock.now().getTime() + 8 * minuteMs).toISOString(),
    });
    expect((await person.answer(typed)).status).toBe(200);
    const { status, body: tokens } = await program.poll(codes.device_code);
    expect(status, JSON.stringify(tokens)).toBe(200);
    expect((await usersWith(tokens.access_token)).status).toBe(200);
    // Each code serves once, for both sides.
    expect((await person.answer(typed)).body.code).toBe("not_found");
    expect((await program.poll(codes.device_code)).body.error).toBe("invalid_grant");
    expect((await usersWith(tokens.access_token)).body.code).toBe("session_ended");
  });

  test("tells the program that the person refused, or that the code has expired", async () => {
    const [program, person] = [new Program(), await personWith()];
    const { body: first } = await program.requestDevice();
    expect((await person.answer(first.user_code, false)).status).toBe(200);
    expect((await program.poll(first.device_code)).body.error).toBe("access_denied");
    const { body: second } = await program.requestDevice();
    clock.advance(10 * minuteMs);
    expect((await program.poll(second.device_code)).body.error).toBe("expired_token");
    expect((await person.answer(second.user_code)).body.code).toBe("not_found");
  });

  test("is answered once, by one of two people who are asked at once", async () => {
    const [program, first, second] = [new Program(), await personWith(), await personWith()];
    const { body: codes } = await program.requestDevice();
    const replies = await Promise.all([first.answer(codes.user_code), second.answer(codes.user_code)]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 404]);
  });

  test("is not answered by pages of other sites, keys or programs: nobody approves unknowingly", async () => {
    const { person, tokens } = await signedIn();
    const { body: codes } = await new Program().requestDevice();
    const body = { code: codes.user_code, approve: true };
    const path = "/console/device-authorization";
    expect((await person.post(path, body, { "sec-fetch-site": "cross-site" })).body.code).toBe("foreign_origin");
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const raw = await server.app.inject({
      method: "POST",
      url: path,
      headers: { ...person.headers, ...form },
      payload: "a=b",
    });
    expect(raw.statusCode).toBe(415);
    const page = { "sec-fetch-site": "same-origin" };
    expect((await server.client(tenant.key).post(path, body, page)).body.code).toBe("person_required");
    expect((await server.client(tokens.access_token).post(path, body, page)).body.code).toBe("person_required");
    expect(
      (
        await new Program().post("/oauth/device_authorization", "client_id=gatehouse-cli", {
          "sec-fetch-site": "cross-site",
        })
      ).body.error,
    ).toBe("invalid_request");
  });

  test("limits guesses of a person from any address, and logs them", async () => {
    const person = await personWith();
    const { body: codes } = await new Program().requestDevice();
    for (let tries = 0; tries < 10; tries += 1) {
      const from = { "x-forwarded-for": `2001:db8:2:${tries}::1` };
      const guess = await person.post("/console/device-authorization/description", { code: "BBBB-BBBB" }, from);
      expect(guess.body.code).toBe("not_found");
    }
    const right = await person.answer(codes.user_code);
    expect(right.body.code).toBe("too_many_failed_authentications");
    expect(await failuresOf(person.user.id)).toHaveLength(10);
    clock.advance(10 * minuteMs + 1);
    const { body: later } = await new Program().requestDevice();
    expect((await person.answer(later.user_code)).status).toBe(200);
  });

  test("of another program is refused", async () => {
    const [program, person] = [new Program(), await personWith()];
    const { body: codes } = await program.requestDevice();
    expect((await program.poll(codes.device_code, "gatehouse-device")).body.error).toBe("invalid_grant");
    await person.answer(codes.user_code);
    expect((await program.poll(codes.device_code, "gatehouse-device")).body.error).toBe("invalid_grant");
    expect((await program.poll(codes.device_code)).status).toBe(200);
  });

  test("keeps few codes pending for an address", async () => {
    const [program, neighbour] = [new Program(), new Program()];
    neighbour.address = program.address.replace("::1", "::2");
    for (let made = 0; made < 50; made += 1) expect((await program.requestDevice()).status).toBe(200);
    const refused = await program.requestDevice();
    expect({ status: refused.status, error: refused.body.error }).toEqual({
      status: 503,
      error: "temporarily_unavailable",
    });
    expect((await neighbour.requestDevice()).status).toBe(503);
    expect((await new Program().requestDevice()).status).toBe(200);
  });

  test("refuses unknown programs and unreadable machines", async () => {
    expect((await new Program().requestDevice({ client_id: "another" })).body.error).toBe("invalid_client");
    expect((await new Program().requestDevice({ machine: "a\u202eb" })).body.error).toBe("invalid_request");
  });
});

describe("the enrolment of a device", () => {
  const machine = () => ({
    client_id: "gatehouse-device",
    machine: "Laptop",
    os: "Debian GNU/Linux",
    os_version: "13",
    hardware_id: unique("Serial"),
    public_key: publicKey(),
  });

  test("shows machine, system and key, makes the device the person's, and gives its token once", async () => {
    const [program, person] = [new Program(), await personWith([])];
    const asked = machine();
    const { body: codes } = await program.requestDevice(asked);
    expect((await program.poll(codes.device_code, "gatehouse-device")).body.error).toBe("authorization_pending");
    const { body: shown } = await person.post("/console/device-authorization/description", { code: codes.user_code });
    const hash = createHash("sha256").update(Buffer.from(asked.public_key, "base64")).digest("hex").toUpperCase();
    expect(shown).toMatchObject({ name: "Gatehouse device", machine: "Laptop", address: program.address });
    expect(shown.device.os).toBe("Debian GNU/Linux 13");
    expect(shown.device.keyFingerprint.replaceAll("-", "")).toBe(hash.slice(0, 20));
    expect((await person.answer(codes.user_code)).status).toBe(200);
    const { status, body } = await program.poll(codes.device_code, "gatehouse-device");
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.access_token).toMatch(/^gatehouse_device_/);
    expect(body).not.toHaveProperty("refresh_token");
    const { body: device } = await tenant.client.must.get(`/tenants/devices/${body.device.id}`);
    expect(device).toMatchObject({
      name: "Laptop",
      active: true,
      user: { id: person.user.id },
      os: "Debian GNU/Linux",
    });
    expect(device.publicKey).toBe(asked.public_key);
    const { body: events } = await tenant.client.must.get(
      `/tenants/events?filter[target.id]=${device.id}&sort=position`,
    );
    expect(
      events.data.map(({ operation, actor }: { operation: string; actor: object }) => ({ operation, actor })),
    ).toEqual(
      ["enrolDevice", "rotateDeviceToken"].map((operation) => ({
        operation,
        actor: { type: "user", id: person.user.id, name: person.user.email },
      })),
    );
    expect((await program.poll(codes.device_code, "gatehouse-device")).body.error).toBe("invalid_grant");
    // The token is the device's, not the person's.
    expect((await usersWith(body.access_token)).body.code).toBe("invalid_api_key");
  });

  test("that fails can be approved again, once its cause is gone", async () => {
    const [program, person] = [new Program(), await personWith([])];
    const taken = machine();
    const { body: first } = await program.requestDevice(taken);
    await person.answer(first.user_code);
    const { body: second } = await program.requestDevice({ ...machine(), public_key: taken.public_key });
    expect((await person.answer(second.user_code)).body.code).toBe("device_key_taken");
    const { body: enrolled } = await program.poll(first.device_code, "gatehouse-device");
    await tenant.client.must.delete(`/tenants/devices/${enrolled.device.id}`);
    expect((await person.answer(second.user_code)).status).toBe(200);
    expect((await program.poll(second.device_code, "gatehouse-device")).status).toBe(200);
  });

  test("gives no token after the person was deactivated or signed out everywhere", async () => {
    const [program, person] = [new Program(), await personWith([])];
    const { body: codes } = await program.requestDevice(machine());
    await person.answer(codes.user_code);
    await tenant.client.must.delete(`/tenants/users/${person.user.id}/sessions`);
    expect((await program.poll(codes.device_code, "gatehouse-device")).body.error).toBe("invalid_grant");
  });

  test("waits for an administrator if the tenant says so", async () => {
    const [program, person] = [new Program(), await personWith([])];
    await tenant.client.must.put("/tenants/settings", { deviceApproval: "administrator" });
    const enrol = async () => {
      const { body: codes } = await program.requestDevice(machine());
      await person.answer(codes.user_code);
      return (await program.poll(codes.device_code, "gatehouse-device")).body;
    };
    const [approved, refused] = [await enrol(), await enrol()];
    await tenant.client.must.put("/tenants/settings", { deviceApproval: "automatic" });
    expect(approved.device.approval).toBe("pending");
    const path = `/tenants/devices/${approved.device.id}`;
    expect((await tenant.client.get(path)).body).toMatchObject({
      active: false,
      status: "Deactivated",
      approval: "pending",
    });
    const pending = await tenant.client.must.get("/tenants/devices?filter[approval]=pending&sort=createdAt");
    expect(pending.body.data.map(({ id }: { id: string }) => id)).toEqual([approved.device.id, refused.device.id]);
    const { body: device } = await tenant.client.must.post(`${path}/reactivate`);
    expect(device.active).toBe(true);
    expect(device).not.toHaveProperty("approval");
    await tenant.client.must.delete(`/tenants/devices/${refused.device.id}`);
    // A device that is deactivated later does not wait again.
    await tenant.client.must.patch(`${path}/deactivate`);
    expect((await tenant.client.get(path)).body).not.toHaveProperty("approval");
    expect((await tenant.client.get("/tenants/devices?filter[approval]=pending")).body.data).toEqual([]);
  });

  test.each<[string, Record<string, string>]>([
    ["an invalid key", { public_key: "abc" }],
    ["no hardware id", { hardware_id: "" }],
    ["a system that turns text around", { os: "Debian\u202e" }],
    ["no name", { machine: " " }],
  ])("refuses %s", async (_what, changes) => {
    expect((await new Program().requestDevice({ ...machine(), ...changes })).body.error).toBe("invalid_request");
  });

  test("signs nobody in: its codes give no session, and its program cannot use a redirect", async () => {
    const [program, person] = [new Program(), await personWith()];
    const { body: codes } = await program.requestDevice(machine());
    await person.answer(codes.user_code);
    expect((await program.poll(codes.device_code)).body.error).toBe("invalid_grant");
    const reply = await person.approve(program.request({ client_id: "gatehouse-device" }));
    expect(reply.body.code).toBe("invalid_parameter");
  });
});
