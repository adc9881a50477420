/** The token endpoint, and the access and refresh tokens of programs. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AuthorizationWorld, codeOf, deviceGrant, minuteMs } from "../../testing/authorization-world.ts";
import { publicKey } from "../../testing/operations/test-records.ts";

let world: AuthorizationWorld;

beforeAll(async () => {
  world = await AuthorizationWorld.start();
});
afterAll(() => world.close());

describe("the token endpoint", () => {
  test.each<[string, string, string]>([
    ["no grant type", "client_id=gatehouse-cli", "invalid_request"],
    ["another grant type", "client_id=gatehouse-cli&grant_type=password", "unsupported_grant_type"],
    ["a parameter twice", "grant_type=refresh_token&client_id=a&client_id=b&refresh_token=c", "invalid_request"],
    ["no token", "grant_type=refresh_token&client_id=gatehouse-cli", "invalid_request"],
    ["an unknown token", "grant_type=refresh_token&client_id=gatehouse-cli&refresh_token=abc", "invalid_grant"],
    ["an unknown device code", `grant_type=${deviceGrant}&client_id=gatehouse-cli&device_code=abc`, "invalid_grant"],
  ])("refuses %s", async (_what, form, error) => {
    expect((await world.newProgram().post("/oauth/token", form)).body.error).toBe(error);
  });

  test("refuses pages, other content types and long bodies", async () => {
    const program = world.newProgram();
    const form = "grant_type=refresh_token";
    expect((await program.post("/oauth/token", form, { origin: "https://example.net" })).body.error).toBe(
      "invalid_request",
    );
    const response = await world.server.app.inject({
      method: "POST",
      url: "/oauth/token",
      headers: { "content-type": "application/json" },
      payload: JSON.stringify({ grant_type: "refresh_token" }),
    });
    expect(response.json().error).toBe("invalid_request");
    const long = await world.server.app.inject({
      method: "POST",
      url: "/oauth/token",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      payload: "a".repeat(5_000),
    });
    expect(long.statusCode).toBe(413);
  });

  test("counts refused grants for the address", async () => {
    const program = world.newProgram();
    for (let tries = 0; tries < 20; tries += 1) await program.refresh("guess");
    expect((await program.refresh("guess")).body.code).toBe("too_many_failed_authentications");
  });
});

describe("an access token", () => {
  test("expires after ten minutes, and is replaced by a refresh", async () => {
    const { program, tokens } = await world.signIn();
    world.clock.advance(10 * minuteMs);
    expect((await world.usersWith(tokens.access_token)).body.code).toBe("session_ended");
    const { status, body } = await program.refresh(tokens.refresh_token);
    expect(status).toBe(200);
    expect((await world.usersWith(body.access_token)).status).toBe(200);
  });

  test("is not accepted as a cookie, nor a cookie as an access token", async () => {
    const { person, tokens } = await world.signIn();
    const asCookie = await world.server
      .client(undefined)
      .get("/tenants/users", { cookie: `gatehouse_session=${tokens.access_token}`, "sec-fetch-site": "same-origin" });
    expect(asCookie.body.code).toBe("session_ended");
    const cookie = /=(.*)$/.exec(person.headers.cookie ?? "")?.[1] ?? "";
    expect((await world.usersWith(cookie)).body.code).toBe("invalid_api_key");
    expect((await world.usersWith(tokens.refresh_token)).body.code).toBe("invalid_api_key");
  });

  test("does not sign in to the console", async () => {
    const { tokens } = await world.signIn();
    const reply = await world.server.client(tokens.access_token).post("/console/session");
    expect(reply.body.code).toBe("invalid_api_key");
  });

  test("loses its permissions at the next request after the person loses them", async () => {
    const { person, tokens, program } = await world.signIn();
    await world.tenant.client.must.patch(`/tenants/users/${person.user.id}/deactivate`);
    expect((await world.usersWith(tokens.access_token)).body.code).toBe("session_ended");
    expect((await program.refresh(tokens.refresh_token)).body.error).toBe("invalid_grant");
    const nobody = await world.signIn([]);
    expect((await world.usersWith(nobody.tokens.access_token)).body.code).toBe("permission_denied");
  });

  test("is asked for a recent authentication", async () => {
    const { program, person, tokens: first } = await world.signIn();
    world.clock.advance(16 * minuteMs);
    const { body: tokens } = await program.refresh(first.refresh_token);
    const key = { name: "Made by a program", permissions: ["users:read"] };
    const refused = await world.server.client(tokens.access_token).post("/tenants/api-keys", key);
    expect(refused.body.code).toBe("recent_authentication_required");
    expect(refused.headers["www-authenticate"]).toContain('error="insufficient_user_authentication"');
    const device = { name: "Laptop", userId: person.user.id, hardwareId: "C02XK0AAJGH5", publicKey: publicKey() };
    const enrolled = await world.server.client(tokens.access_token).post("/tenants/devices", device);
    expect(enrolled.body.code).toBe("recent_authentication_required");
  });
});

describe("a refresh token", () => {
  test("is replaced by each use, and its second use ends the session", async () => {
    const { program, person, tokens } = await world.signIn();
    const { body: second } = await program.refresh(tokens.refresh_token);
    expect(second.refresh_token).not.toBe(tokens.refresh_token);
    expect((await world.usersWith(tokens.access_token)).body.code).toBe("session_ended");
    expect((await world.usersWith(second.access_token)).status).toBe(200);
    expect((await program.refresh(tokens.refresh_token)).body.error).toBe("invalid_grant");
    expect((await world.usersWith(second.access_token)).body.code).toBe("session_ended");
    expect((await program.refresh(second.refresh_token)).body.error).toBe("invalid_grant");
    expect(await world.failuresOf(person.user.id)).toContain(
      "a refresh token was used twice; the program was signed out",
    );
  });

  test("ends the session if two programs use it at once", async () => {
    const { program, tokens } = await world.signIn();
    const answers = await Promise.all([program.refresh(tokens.refresh_token), program.refresh(tokens.refresh_token)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    const { body } = answers.find(({ status }) => status === 200) ?? { body: {} };
    expect((await world.usersWith(body.access_token)).body.code).toBe("session_ended");
  });

  test("of a session that was idle, or has ended, is refused", async () => {
    const { program, tokens } = await world.signIn();
    world.clock.advance(60 * minuteMs);
    expect((await program.refresh(tokens.refresh_token)).body.error).toBe("invalid_grant");
  });

  test("does not outlive the session that approved the program", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson()];
    let { body: tokens } = await program.exchange(codeOf(await person.approve(program.request())));
    const expiresAt = Date.parse(tokens.session_expires_at);
    expect(expiresAt - world.clock.now().getTime()).toBe(12 * 60 * minuteMs);
    while (world.clock.now().getTime() < expiresAt - 30 * minuteMs) {
      world.clock.advance(30 * minuteMs);
      ({ body: tokens } = await program.refresh(tokens.refresh_token));
      expect(tokens.session_expires_at).toBe(new Date(expiresAt).toISOString());
    }
    world.clock.advance(30 * minuteMs);
    expect((await program.refresh(tokens.refresh_token)).body.error).toBe("invalid_grant");
  });

  test("is revoked with its session, by the program and by sign out everywhere", async () => {
    const [first, second] = [await world.signIn(), await world.signIn()];
    const form = { client_id: "gatehouse-cli", token: first.tokens.refresh_token };
    expect((await first.program.post("/oauth/revoke", form)).status).toBe(200);
    expect((await world.usersWith(first.tokens.access_token)).body.code).toBe("session_ended");
    expect((await first.program.post("/oauth/revoke", { ...form, token: "unknown" })).status).toBe(200);
    expect((await second.person.client.delete(`/tenants/users/${second.person.user.id}/sessions`)).status).toBe(204);
    expect((await world.usersWith(second.tokens.access_token)).body.code).toBe("session_ended");
  });

  test("is revoked when the person signs out in the browser that approved the program", async () => {
    const { person, tokens, program } = await world.signIn();
    const other = await world.newSession(person);
    const kept = await program.exchange(codeOf(await other.approve(program.request())));
    expect((await person.client.delete("/console/session")).status).toBe(204);
    expect((await world.usersWith(tokens.access_token)).body.code).toBe("session_ended");
    expect((await program.refresh(tokens.refresh_token)).body.error).toBe("invalid_grant");
    expect((await world.usersWith(kept.body.access_token)).status).toBe(200);
  });

  test("is revoked when somebody ends the session that approved the program, which is recorded", async () => {
    const { person, tokens, program } = await world.signIn();
    const { body: sessions } = await world.tenant.client.must.get(
      `/tenants/sessions?filter[user.id]=${person.user.id}&sort=createdAt`,
    );
    const [browser, command] = sessions.data;
    expect([browser.client, command.client]).toEqual(["console", "cli"]);
    await world.tenant.client.must.delete(`/tenants/sessions/${browser.id}`);
    expect((await world.usersWith(tokens.access_token)).body.code).toBe("session_ended");
    expect((await program.refresh(tokens.refresh_token)).body.error).toBe("invalid_grant");
    const { body: events } = await world.tenant.client.must.get("/tenants/events?sort=-position&limit=2");
    const ended = events.data.map(({ target }: { target: { id: string } }) => target.id);
    expect(new Set(ended)).toEqual(new Set([browser.id, command.id]));
  });

  test("works after the session that approved the program was idle for too long", async () => {
    const { person, tokens, program } = await world.signIn();
    world.clock.advance(50 * minuteMs);
    const { body: second } = await program.refresh(tokens.refresh_token);
    world.clock.advance(20 * minuteMs);
    expect((await person.client.get("/tenants/users")).body.code).toBe("session_ended");
    // A new session deletes those that are over.
    await world.newSession(person);
    expect((await program.refresh(second.refresh_token)).status).toBe(200);
  });
});
