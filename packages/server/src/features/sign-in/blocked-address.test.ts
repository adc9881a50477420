/** Others behind an address cannot lock out the people whose passkeys were accepted from there. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BrowserPage, enrolmentLinkFor } from "../../testing/browser-page.ts";
import { uniqueEmail } from "../../testing/operations/test-records.ts";
import { activeUser } from "../../testing/signed-in-person.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { VirtualPasskey } from "../../testing/virtual-passkey.ts";

const maxFailures = 3;
const minuteMs = 60_000;
const windowMs = 5 * minuteMs;
const origin = "http://localhost:8080";
const clock = new TestClock();
let server: TestServer;
/** Another replica, which has never seen the address. */
let replica: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  const settings = { rateLimits: { perMinute: 0, authFailures: maxFailures, shared: false } };
  server = await startTestServer({ clock, settings });
  replica = await startTestServer({ clock, operatorKey: server.operatorKey });
  tenant = await server.newTenant();
});
beforeEach(() => clock.advance(windowMs - (clock.now().getTime() % windowMs)));
afterAll(() => Promise.all([server.close(), replica.close()]));

async function enrolled(on: TestServer) {
  const user = await activeUser(on, tenant, uniqueEmail(), ["ADMIN"]);
  const [page, passkey] = [new BrowserPage(on), new VirtualPasskey(origin)];
  const reply = await page.enrol(await enrolmentLinkFor(on, tenant.id, user), passkey);
  expect(reply.status, reply.text).toBe(201);
  return { page, passkey };
}

const blocked = { status: 429, body: { code: "too_many_failed_authentications" } };

async function blockAddress(): Promise<void> {
  const guess = () => new BrowserPage(server).post("/console/recovery", { code: "0".repeat(32) });
  for (let tries = 0; tries < maxFailures; tries += 1) expect((await guess()).status).toBe(401);
  expect(await guess()).toMatchObject(blocked);
}

describe("from a blocked address", () => {
  test("a person signs in with a passkey that was accepted from there", async () => {
    const { passkey } = await enrolled(server);
    await blockAddress();
    const page = new BrowserPage(server);
    // The console begins with these requests.
    expect((await page.get("/console/session")).status).toBe(204);
    expect((await page.get("/console/sign-in")).status).toBe(200);
    expect(await page.signIn(passkey)).toMatchObject({ status: 201 });
    expect((await page.get("/tenants/users")).status).toBe(200);
  });

  test("nobody signs in with another passkey, and challenges use no allowance", async () => {
    const { passkey } = await enrolled(server);
    const { passkey: unknown } = await enrolled(replica);
    await blockAddress();
    const page = new BrowserPage(server);
    for (let times = 0; times < 2 * maxFailures; times += 1) {
      expect((await page.post("/console/sign-in/options")).status).toBe(200);
      expect(await page.signIn(unknown)).toMatchObject(blocked);
    }
    expect(await page.signIn(passkey)).toMatchObject({ status: 201 });
  });

  test("a session that was not accepted from there is not looked up", async () => {
    const { page } = await enrolled(replica);
    await blockAddress();
    const copy = new BrowserPage(server);
    copy.setCookie("gatehouse_session", page.sessionCookie ?? "");
    expect(await copy.get("/console/session")).toMatchObject(blocked);
  });

  test("a signed-in person confirms with a passkey, and adds one", async () => {
    const { page, passkey } = await enrolled(server);
    const other = new VirtualPasskey(origin);
    await blockAddress();
    expect(await page.stepUp(passkey)).toMatchObject({ status: 204 });
    expect(await page.register(other)).toMatchObject({ status: 201 });
    expect(await new BrowserPage(server).signIn(other)).toMatchObject({ status: 201 });
  });

  test("a confirmation counts as the latest use of the passkey", async () => {
    const { page, passkey } = await enrolled(server);
    clock.advance(50 * minuteMs);
    expect(await page.stepUp(passkey)).toMatchObject({ status: 204 });
    clock.advance(50 * minuteMs);
    await blockAddress();
    expect(await new BrowserPage(server).signIn(passkey)).toMatchObject({ status: 201 });
  });
});
