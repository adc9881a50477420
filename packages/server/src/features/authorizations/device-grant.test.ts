/** The device grant of programs that cannot open a browser. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AuthorizationWorld, minuteMs } from "../../testing/authorization-world.ts";

let world: AuthorizationWorld;

beforeAll(async () => {
  world = await AuthorizationWorld.start();
});
afterAll(() => world.close());

describe("the device grant", () => {
  test("shows the person the machine, its address and the time of its request, and yields tokens", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson()];
    const { body: codes } = await program.requestDevice();
    expect(codes).toMatchObject({
      expires_in: 600,
      interval: 5,
      verification_uri: "http://localhost:8080/console/code",
    });
    expect(codes.user_code).toMatch(/^[B-Z]{4}-[B-Z]{4}$/);
    expect((await program.poll(codes.device_code)).body.error).toBe("authorization_pending");
    expect((await program.poll(codes.device_code)).body.error).toBe("slow_down");
    world.clock.advance(2 * minuteMs);
    const typed = codes.user_code.toLowerCase().replace("-", " ");
    const { body: shown } = await person.post("/console/device-authorization/description", { code: typed });
    expect(shown).toEqual({
      name: "Gatehouse command line",
      machine: "build-1",
      address: program.address,
      sameAddress: false,
      requestedAt: new Date(world.clock.now().getTime() - 2 * minuteMs).toISOString(),
      expiresAt: new Date(world.clock.now().getTime() + 8 * minuteMs).toISOString(),
    });
    expect((await person.answer(typed)).status).toBe(200);
    const { status, body: tokens } = await program.poll(codes.device_code);
    expect(status, JSON.stringify(tokens)).toBe(200);
    expect((await world.usersWith(tokens.access_token)).status).toBe(200);
    // The person and the program can each use their code once.
    expect((await person.answer(typed)).body.code).toBe("not_found");
    expect((await program.poll(codes.device_code)).body.error).toBe("invalid_grant");
    expect((await world.usersWith(tokens.access_token)).body.code).toBe("session_ended");
  });

  test("requires an authentication in the last 15 minutes, because the program outlives the session", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson()];
    world.clock.advance(15 * minuteMs + 1);
    const { body: codes } = await program.requestDevice();
    const refused = await person.answer(codes.user_code);
    expect([refused.status, refused.body.code]).toEqual([401, "recent_authentication_required"]);
    expect((await (await world.newSession(person)).answer(codes.user_code)).status).toBe(200);
    expect((await program.poll(codes.device_code)).status).toBe(200);
  });

  test("of a program that polls without a pause does not reach the database, and works again later", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson()];
    const { clock } = world;
    const { body: codes } = await program.requestDevice();
    // The window of a minute may end meanwhile if the clock is near its end.
    clock.advance(minuteMs - (clock.now().getTime() % minuteMs));
    for (let index = 0; index < 24; index += 1) await program.poll(codes.device_code);
    // The code is approved, but the poll does not look it up.
    clock.advance(10_000);
    expect((await person.answer(codes.user_code)).status).toBe(200);
    expect((await program.poll(codes.device_code)).body.error).toBe("slow_down");
    clock.advance(minuteMs);
    expect((await program.poll(codes.device_code)).status).toBe(200);
  });

  test("tells the program that the person refused, or that the code has expired", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson()];
    const { body: first } = await program.requestDevice();
    expect((await person.answer(first.user_code, false)).status).toBe(200);
    expect((await program.poll(first.device_code)).body.error).toBe("access_denied");
    const { body: second } = await program.requestDevice();
    world.clock.advance(10 * minuteMs);
    expect((await program.poll(second.device_code)).body.error).toBe("expired_token");
    expect((await person.answer(second.user_code)).body.code).toBe("not_found");
  });

  test("is answered once, by one of two people who are asked at once", async () => {
    const [program, first, second] = [world.newProgram(), await world.newPerson(), await world.newPerson()];
    const { body: codes } = await program.requestDevice();
    const replies = await Promise.all([first.answer(codes.user_code), second.answer(codes.user_code)]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 404]);
  });

  test("is not answered by pages of other sites, keys or programs: nobody approves unknowingly", async () => {
    const { person, tokens } = await world.signIn();
    const { body: codes } = await world.newProgram().requestDevice();
    const body = { code: codes.user_code, approve: true };
    const path = "/console/device-authorization";
    expect((await person.post(path, body, { "sec-fetch-site": "cross-site" })).body.code).toBe("foreign_origin");
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const raw = await world.server.app.inject({
      method: "POST",
      url: path,
      headers: { ...person.headers, ...form },
      payload: "a=b",
    });
    expect(raw.statusCode).toBe(415);
    const page = { "sec-fetch-site": "same-origin" };
    expect((await world.server.client(world.tenant.key).post(path, body, page)).body.code).toBe("person_required");
    expect((await world.server.client(tokens.access_token).post(path, body, page)).body.code).toBe("person_required");
    expect(
      (
        await world.newProgram().post("/oauth/device_authorization", "client_id=gatehouse-cli", {
          "sec-fetch-site": "cross-site",
        })
      ).body.error,
    ).toBe("invalid_request");
  });

  test("limits guesses of a person from any address, and logs them", async () => {
    const person = await world.newPerson();
    const { body: codes } = await world.newProgram().requestDevice();
    for (let tries = 0; tries < 10; tries += 1) {
      const from = { "x-forwarded-for": `2001:db8:2:${tries}::1` };
      const guess = await person.post("/console/device-authorization/description", { code: "BBBB-BBBB" }, from);
      expect(guess.body.code).toBe("not_found");
    }
    const right = await person.answer(codes.user_code);
    expect(right.body.code).toBe("too_many_failed_authentications");
    expect(await world.failuresOf(person.user.id)).toHaveLength(10);
    world.clock.advance(10 * minuteMs + 1);
    const { body: later } = await world.newProgram().requestDevice();
    expect((await person.answer(later.user_code)).status).toBe(200);
  });

  test("counts concurrent guesses of a person, even from several sessions", async () => {
    const person = await world.newPerson();
    const others = [await world.newSession(person), await world.newSession(person)];
    const guess = (session: typeof person) =>
      session.post("/console/device-authorization/description", { code: "BBBB-BBBB" });
    const sessions = [person, ...others];
    const replies = await Promise.all(Array.from({ length: 10 }, () => sessions.map(guess)).flat());
    const codes = replies.map(({ body }) => body.code);
    expect(codes.filter((code) => code === "not_found")).toHaveLength(10);
    expect(codes.filter((code) => code === "too_many_failed_authentications")).toHaveLength(20);
    expect(await world.failuresOf(person.user.id)).toHaveLength(10);
  });

  test("of another program is refused", async () => {
    const [program, person] = [world.newProgram(), await world.newPerson()];
    const { body: codes } = await program.requestDevice();
    expect((await program.poll(codes.device_code, "gatehouse-device")).body.error).toBe("invalid_grant");
    await person.answer(codes.user_code);
    expect((await program.poll(codes.device_code, "gatehouse-device")).body.error).toBe("invalid_grant");
    expect((await program.poll(codes.device_code)).status).toBe(200);
  });

  test("limits the pending codes of an address", async () => {
    const [program, neighbour] = [world.newProgram(), world.newProgram()];
    neighbour.address = program.address.replace("::1", "::2");
    for (let made = 0; made < 50; made += 1) expect((await program.requestDevice()).status).toBe(200);
    const refused = await program.requestDevice();
    expect({ status: refused.status, error: refused.body.error }).toEqual({
      status: 503,
      error: "temporarily_unavailable",
    });
    expect((await neighbour.requestDevice()).status).toBe(503);
    expect((await world.newProgram().requestDevice()).status).toBe(200);
  });

  test("refuses unknown programs and unreadable machines", async () => {
    expect((await world.newProgram().requestDevice({ client_id: "another" })).body.error).toBe("invalid_client");
    expect((await world.newProgram().requestDevice({ machine: "a\u202eb" })).body.error).toBe("invalid_request");
  });
});
