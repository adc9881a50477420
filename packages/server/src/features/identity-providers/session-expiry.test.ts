/** The provider's `session_expiry` (IPSIE OpenID SL1): no session continues after it. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { HostileProvider } from "../../testing/hostile-provider.ts";
import { ProviderWorld, providerTestUrl } from "../../testing/provider-world.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { createDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { startTestServer, type TestServer } from "../../testing/test-server.ts";

const hourMs = 60 * 60_000;
let database: TestDatabase;
let server: TestServer;
let clock: TestClock;
let hostile: HostileProvider;
let world: ProviderWorld;
let signInUrl: string;

beforeAll(async () => {
  [hostile, database] = await Promise.all([HostileProvider.start(), createDatabase()]);
});
beforeEach(async () => {
  clock = new TestClock();
  hostile.deviations = {};
  const settings = { providerNetworks: ["127.0.0.0/8"], publicUrl: () => providerTestUrl };
  server = await startTestServer({ connection: database.connection, clock, settings });
  world = new ProviderWorld(server, await server.newTenant(), hostile);
  await world.invite("ada@example.com");
  ({ signInUrl } = await world.enabledProvider({ firstSignIn: "INVITED" }));
  return () => server.close();
});
afterAll(async () => {
  await hostile.close();
  await database.drop();
});

/** The provider's session ends after this time. */
function endsAfter(ms: number): Date {
  const seconds = Math.floor((clock.now().getTime() + ms) / 1000);
  hostile.deviations = { claims: (claims) => ({ ...claims, session_expiry: seconds }) };
  return new Date(seconds * 1000);
}

test("a session ends with the session at the provider, although the tenant permits a longer one", async () => {
  const end = endsAfter(hourMs / 2);
  const cookie = await world.signIn(signInUrl);
  expect((await world.session(cookie)).expiresAt).toBe(end.toISOString());
  clock.advance(hourMs / 2 - 2_000);
  expect(await world.isSignedIn(cookie)).toBe(true);
  clock.advance(2_000);
  expect(await world.isSignedIn(cookie)).toBe(false);
});

test("a session ends after the lifetime of the tenant, although the provider permits a longer one", async () => {
  await world.tenant.client.must.put("/tenants/settings", { sessionLifetime: 3_600 });
  endsAfter(10 * hourMs);
  const cookie = await world.signIn(signInUrl);
  expect(Date.parse((await world.session(cookie)).expiresAt)).toBeLessThanOrEqual(clock.now().getTime() + hourMs);
});

test("a sign-in whose session at the provider has ended begins no session", async () => {
  endsAfter(-1_000);
  expect((await world.visit(signInUrl)).statusCode).toBe(401);
  expect((await world.signIns())[0]).toMatchObject({
    outcome: "failed",
    reason: "the provider's session has expired",
  });
});

test("a confirmation can bring the end of the session forward, and never put it off", async () => {
  const first = endsAfter(2 * hourMs);
  const cookie = await world.signIn(signInUrl);
  endsAfter(5 * hourMs);
  expect((await world.visit(`${signInUrl}?confirm=1`, cookie)).statusCode).toBe(200);
  expect((await world.session(cookie)).expiresAt).toBe(first.toISOString());
  const second = endsAfter(hourMs / 2);
  expect((await world.visit(`${signInUrl}?confirm=1`, cookie)).statusCode).toBe(200);
  expect((await world.session(cookie)).expiresAt).toBe(second.toISOString());
  endsAfter(-1_000);
  expect((await world.visit(`${signInUrl}?confirm=1`, cookie)).statusCode).toBe(401);
});
