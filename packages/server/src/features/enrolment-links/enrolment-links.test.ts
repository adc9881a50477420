import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BrowserPage } from "../../testing/browser-page.ts";
import { makeId, uniqueEmail } from "../../testing/operations/test-records.ts";
import { activeUser, ownerOf, personClient, signInAs } from "../../testing/signed-in-person.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { VirtualPasskey } from "../../testing/virtual-passkey.ts";

const dayMs = 24 * 60 * 60_000;
const origin = "http://localhost:8080";
const clock = new TestClock();
let server: TestServer;
let tenant: TestTenant;
beforeAll(async () => {
  server = await startTestServer({ clock });
});
beforeEach(async () => {
  tenant = await server.newTenant();
});
afterAll(() => server.close());

const pathOf = (userId: string) => `/tenants/users/${userId}/enrolment-links`;
const enrol = (token: string) => new BrowserPage(server).enrol(token, new VirtualPasskey(origin));
/** Tries a code as the page does, and returns the status. */
const tryCode = async (token: string) =>
  (await new BrowserPage(server).post("/console/enrolment/options", { token })).status;
const reasonsOf = async (userId: string) => {
  const { body } = await tenant.client.must.get(`/tenants/sign-ins?filter[user.id]=${userId}&limit=100`);
  return body.data.map(({ reason }: { reason?: string }) => reason);
};
/** A code with another last character. */
const wrong = (code: string) => `${code.slice(0, -1)}${code.endsWith("0") ? "1" : "0"}`;

describe("creating an enrolment link", () => {
  test("shows the link and its code once, and either registers a passkey", async () => {
    const secrets: string[] = [];
    for (const way of ["url", "code"] as const) {
      const id = await makeId("user", tenant.client);
      const { status, body, headers } = await tenant.client.post(pathOf(id));
      expect([status, headers.location]).toEqual([201, `${pathOf(id)}/${body.id}`]);
      expect(body).toEqual({
        id: expect.any(String),
        createdAt: clock.now().toISOString(),
        expiresAt: new Date(clock.now().getTime() + 7 * dayMs).toISOString(),
        userId: id,
        codeAttemptsLeft: 5,
        url: expect.stringMatching(/^http:\/\/localhost:8080\/console\/enrol#gatehouse_enrol_\w{49}$/),
        code: expect.stringMatching(/^[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}$/),
      });
      const { url, code, ...stored } = body;
      secrets.push(url, code);
      expect((await tenant.client.must.get(pathOf(id))).body).toEqual([stored]);
      const typed = way === "url" ? url.slice(url.indexOf("#") + 1) : ` ${code.toLowerCase().replaceAll("-", " ")}`;
      const reply = await enrol(typed);
      expect(reply.status, reply.text).toBe(201);
      expect((await tenant.client.must.get(pathOf(id))).body).toMatchObject([{ usedAt: clock.now().toISOString() }]);
      // The link is used up in both ways.
      expect([await tryCode(url.slice(url.indexOf("#") + 1)), await tryCode(code)]).toEqual([401, 401]);
    }
    const { body: events } = await tenant.client.must.get("/tenants/events?filter[target.type]=enrolment-link");
    const text = JSON.stringify(events);
    expect(events.data.length).toBeGreaterThan(1);
    for (const secret of secrets) expect(text).not.toContain(secret);
    expect(text).not.toContain("gatehouse_enrol");
  });

  test("requires every permission of the user, and a recent authentication of people", async () => {
    const owner = await ownerOf(tenant);
    const admin = await activeUser(server, tenant, uniqueEmail(), ["ADMIN"]);
    const person = personClient(server, await signInAs(server, tenant.id, admin.id));
    const lesser = server.client(await tenant.keyWith("users:read", "users:write"));
    const beyond = await lesser.post(pathOf(owner.id));
    expect([beyond.status, beyond.body.code]).toEqual([403, "grants_exceed_caller"]);
    const { body: link } = await tenant.client.must.post(pathOf(owner.id));
    const revoked = await lesser.delete(`${pathOf(owner.id)}/${link.id}`);
    expect([revoked.status, revoked.body.code]).toEqual([403, "grants_exceed_caller"]);
    const stale = personClient(
      server,
      await signInAs(server, tenant.id, admin.id, { authTime: new Date(clock.now().getTime() - dayMs) }),
    );
    const user = await makeId("user", tenant.client);
    expect((await stale.post(pathOf(user))).body.code).toBe("recent_authentication_required");
    expect((await person.post(pathOf(user))).status).toBe(201);
  });

  test("revokes the oldest of ten, and deletes used and expired ones", async () => {
    const id = await makeId("user", tenant.client);
    const made: string[] = [];
    for (let count = 0; count < 12; count += 1) made.push((await tenant.client.must.post(pathOf(id))).body.id);
    const ids = async () => (await tenant.client.must.get(pathOf(id))).body.map((link: { id: string }) => link.id);
    expect(await ids()).toEqual(made.slice(2));
    clock.advance(8 * dayMs);
    const { body: fresh } = await tenant.client.must.post(pathOf(id));
    expect(await ids()).toEqual([fresh.id]);
    clock.advance(-8 * dayMs);
  });

  test("is refused for deactivated users, with a stale ETag, and without an SMTP server to notify", async () => {
    const id = await makeId("user", tenant.client);
    expect((await tenant.client.post(pathOf(id), {}, { "if-match": '"9"' })).status).toBe(412);
    expect((await tenant.client.post(pathOf(id), { notify: true })).body.code).toBe("mail_not_configured");
    const created = await tenant.client.post("/tenants/users", { email: uniqueEmail(), notify: true });
    expect(created.body.code).toBe("mail_not_configured");
    expect((await tenant.client.post(`/tenants/users/${id}/invite`, { notify: true })).body.code).toBe(
      "mail_not_configured",
    );
    const { body: link } = await tenant.client.must.post(pathOf(id));
    await tenant.client.must.patch(`/tenants/users/${id}/deactivate`);
    // Deactivation revokes links for good: reactivation does not bring them back.
    expect((await tenant.client.must.get(pathOf(id))).body).toEqual([]);
    expect((await tenant.client.post(pathOf(id))).body.code).toBe("user_deactivated");
    await tenant.client.must.post(`/tenants/users/${id}/reactivate`);
    expect(await tryCode(link.code)).toBe(401);
  });
});

describe("a code", () => {
  test("is locked after five wrong guesses, and the link stays valid", async () => {
    const id = await makeId("user", tenant.client);
    const { body: link } = await tenant.client.must.post(pathOf(id));
    for (let guess = 0; guess < 5; guess += 1) {
      expect(await tryCode(wrong(link.code))).toBe(401);
      expect((await tenant.client.must.get(pathOf(id))).body).toMatchObject([{ codeAttemptsLeft: 4 - guess }]);
    }
    expect(await tryCode(link.code)).toBe(401);
    expect((await reasonsOf(id)).sort()).toEqual([
      "the code is locked after too many wrong attempts",
      ...Array.from({ length: 5 }, () => "the code is wrong"),
    ]);
    const reply = await enrol(link.url.slice(link.url.indexOf("#") + 1));
    expect(reply.status, reply.text).toBe(201);
  });

  test("is compared at most five times, however many guesses arrive at once", async () => {
    const id = await makeId("user", tenant.client);
    const { body: link } = await tenant.client.must.post(pathOf(id));
    await Promise.all(Array.from({ length: 20 }, () => tryCode(wrong(link.code))));
    const reasons = await reasonsOf(id);
    expect(reasons.filter((reason: string) => reason === "the code is wrong")).toHaveLength(5);
    expect(reasons.filter((reason: string) => reason.startsWith("the code is locked"))).toHaveLength(15);
  });

  test("that is right does not count as an attempt", async () => {
    const id = await makeId("user", tenant.client);
    const { body: link } = await tenant.client.must.post(pathOf(id));
    for (let count = 0; count < 8; count += 1) expect(await tryCode(link.code)).toBe(200);
    expect((await tenant.client.must.get(pathOf(id))).body).toMatchObject([{ codeAttemptsLeft: 5 }]);
  });

  test("of no link gets the same answer as a wrong one, and so does text that is not a code", async () => {
    const { body: link } = await tenant.client.must.post(pathOf(await makeId("user", tenant.client)));
    const answers = await Promise.all(
      [wrong(link.code), "0000-0000-0000", "nonsense", "0".repeat(200)].map(async (token) => {
        const { status, body } = await new BrowserPage(server).post("/console/enrolment/options", { token });
        return { status, code: body.code, detail: body.detail };
      }),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 401, code: "sign_in_failed" });
  });

  test("of no link takes as long as a wrong one, whose guess is counted and recorded", async () => {
    const { body: link } = await tenant.client.must.post(pathOf(await makeId("user", tenant.client)));
    const refused = async (token: string) => {
      const startedAt = performance.now();
      expect(await tryCode(token)).toBe(401);
      return performance.now() - startedAt;
    };
    // Timers may be a millisecond early.
    for (const took of await Promise.all([wrong(link.code), "0000-0000-0000"].map(refused))) {
      expect(took).toBeGreaterThan(198);
    }
  });

  test("does not work for a link that was revoked", async () => {
    const id = await makeId("user", tenant.client);
    const { body: link } = await tenant.client.must.post(pathOf(id));
    await tenant.client.must.delete(`${pathOf(id)}/${link.id}`);
    expect(await tryCode(link.code)).toBe(401);
    expect((await tenant.client.delete(`${pathOf(id)}/${link.id}`)).status).toBe(404);
  });
});

test("registering a passkey revokes the person's other links", async () => {
  const id = await makeId("user", tenant.client);
  const links = [await tenant.client.must.post(pathOf(id)), await tenant.client.must.post(pathOf(id))];
  const [first, second] = links.map(({ body }) => body);
  expect((await enrol(first.code)).status).toBe(201);
  expect(await tryCode(second.code)).toBe(401);
  expect((await tenant.client.must.get(pathOf(id))).body).toMatchObject([{ id: first.id }]);
});
