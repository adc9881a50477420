/** The authorization code: the approval in the browser, and its exchange for tokens. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AuthorizationWorld, codeOf, minuteMs, redirectUri } from "../../testing/authorization-world.ts";
import { unique } from "../../testing/operations/test-records.ts";

let world: AuthorizationWorld;

beforeAll(async () => {
  world = await AuthorizationWorld.start();
});
afterAll(() => world.close());

test("the metadata names endpoints at the public address, and no weaker methods", async () => {
  const { statusCode, json } = await world.server.app.inject("/.well-known/oauth-authorization-server");
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
  test("yields tokens that are accepted wherever keys are, in a session of the person", async () => {
    const { person, tokens } = await world.signIn();
    expect(tokens).toMatchObject({ token_type: "Bearer", expires_in: 600, user: { email: person.user.email } });
    expect((await world.usersWith(tokens.access_token)).status).toBe(200);
    expect((await world.server.client(tokens.access_token).get("/tenants/users")).status).toBe(200);
    const { body } = await world.server.client(tokens.access_token).get("/tenants/sessions?sort=createdAt&limit=100");
    const current = body.data.find((session: { current: boolean }) => session.current);
    expect(current).toMatchObject({ client: "cli", user: { id: person.user.id }, method: "passkey" });
    expect(current.userAgent).toBe("Gatehouse command line on build-1");
    const made = await world.server.client(tokens.access_token).post("/tenants/groups", { name: unique("Group") });
    expect(made.status, made.text).toBe(201);
    const { body: events } = await world.tenant.client.must.get(`/tenants/events?filter[target.id]=${made.body.id}`);
    expect(events.data[0].actor).toEqual({ type: "user", id: person.user.id, name: person.user.email });
  });

  test("returns to the program with state and issuer, even if the person refuses", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson()];
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
    const [program, person] = [world.newProgram(), await world.newPerson()];
    for (const path of ["/console/authorization/description", "/console/authorization"]) {
      const request = program.request(changes);
      const body = path.endsWith("description") ? { request } : { request, approve: true };
      const reply = await person.post(path, body);
      expect({ status: reply.status, code: reply.body.code }).toEqual({ status: 400, code: "invalid_parameter" });
      expect(reply.text).not.toContain("redirectTo");
    }
  });

  test("is exchanged once: the second use ends the session of the first", async () => {
    const { program, person, code, tokens } = await world.signIn();
    expect((await program.exchange(code)).body.error).toBe("invalid_grant");
    expect((await world.usersWith(tokens.access_token)).body.code).toBe("session_ended");
    expect((await program.refresh(tokens.refresh_token)).body.error).toBe("invalid_grant");
    expect(await world.failuresOf(person.user.id)).toContain(
      "a code of a program was used twice; the program was signed out",
    );
  });

  test("is exchanged at most once by concurrent requests", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson()];
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
    const [program, person] = [world.newProgram(), await world.newPerson()];
    const code = codeOf(await person.approve(program.request()));
    const refused = await program.exchange(code, changes);
    expect({ status: refused.status, error: refused.body.error }).toEqual({ status: 400, error: "invalid_grant" });
    expect((await program.exchange(code)).body.error).toBe("invalid_grant");
    expect(await world.failuresOf(person.user.id)).toContain(reason);
  });

  test("expires after a minute, and with the session in which it was approved", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson()];
    const late = codeOf(await person.approve(program.request()));
    world.clock.advance(minuteMs);
    expect((await program.exchange(late)).body.error).toBe("invalid_grant");
    const orphan = codeOf(await person.approve(program.request()));
    await world.tenant.client.must.delete(`/tenants/users/${person.user.id}/sessions`);
    expect((await program.exchange(orphan)).body.error).toBe("invalid_grant");
  });

  test("is not exchanged for an unknown program, or as a device code", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson()];
    const code = codeOf(await person.approve(program.request()));
    const other = await program.exchange(code, { client_id: "another" });
    expect({ status: other.status, error: other.body.error }).toEqual({ status: 401, error: "invalid_client" });
    expect((await program.poll(code)).body.error).toBe("invalid_grant");
  });

  test("requires the age of authentication that the program asks for", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson()];
    world.clock.advance(11 * minuteMs);
    const refused = await person.approve(program.request({ max_age: "600" }));
    expect(refused.body.code).toBe("recent_authentication_required");
    expect((await person.approve(program.request())).status).toBe(200);
  });

  test("requires an authentication in the last 15 minutes, because the program outlives the session", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson()];
    world.clock.advance(15 * minuteMs + 1);
    const refused = await person.approve(program.request());
    expect([refused.status, refused.body.code]).toEqual([401, "recent_authentication_required"]);
    expect((await person.approve(program.request(), false)).status).toBe(200);
    expect((await (await world.newSession(person)).approve(program.request())).status).toBe(200);
  });

  test("is approved only by a person in a page of this server", async () => {
    const { person, tokens } = await world.signIn();
    const request = world.newProgram().request();
    const body = { request, approve: true };
    const crossSite = await person.post("/console/authorization", body, { "sec-fetch-site": "cross-site" });
    expect(crossSite.body.code).toBe("foreign_origin");
    const page = { "sec-fetch-site": "same-origin" };
    const byKey = await world.server.client(world.tenant.key).post("/console/authorization", body, page);
    expect(byKey.body.code).toBe("person_required");
    // Otherwise a stolen token could renew itself for ever.
    const byProgram = await world.server.client(tokens.access_token).post("/console/authorization", body, page);
    expect(byProgram.body.code).toBe("person_required");
    const registers = await world.server
      .client(tokens.access_token)
      .post("/console/account/passkeys/options", {}, page);
    expect(registers.body.code).toBe("person_required");
  });
});
