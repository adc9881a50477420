/** Neither an address nor a tenant can block the access of others to identity providers. */
import type { ServerResponse } from "node:http";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { HostileProvider } from "../../testing/hostile-provider.ts";
import { ProviderWorld, providerTestUrl, sessionOf } from "../../testing/provider-world.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { startTestServer, type TestServer } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";
import { ProviderVisits } from "./provider-visits.ts";
import type { ProviderPages } from "./relying-party.ts";

/** Another one for each test, because failures count. */
let attacker: string;
let attackers = 100;
const person = "192.0.2.7";
let server: TestServer;
let hostile: HostileProvider;
/** The provider of the other tenant. */
let healthy: HostileProvider;
let world: ProviderWorld;
let signInUrl: string;
/** Requests that the hanging provider leaves unanswered. */
const held: ServerResponse[] = [];
let waiting: Promise<unknown>[] = [];

beforeAll(async () => {
  [hostile, healthy] = await Promise.all([HostileProvider.start(), HostileProvider.start()]);
  server = await startTestServer({
    settings: {
      providerNetworks: ["127.0.0.0/8"],
      publicUrl: () => providerTestUrl,
      trustedProxies: ["127.0.0.1"],
      rateLimits: { perMinute: 0, authFailures: 100, shared: false },
    },
  });
});
beforeEach(async () => {
  attacker = `192.0.2.${++attackers}`;
  world = new ProviderWorld(server, await server.newTenant(), hostile);
  await world.invite("ada@example.com");
  signInUrl = (await world.enabledProvider({ firstSignIn: "INVITED", linkVerifiedEmail: true })).signInUrl;
});
afterEach(async () => {
  hostile.deviations = {};
  for (const response of held.splice(0)) response.destroy();
  await Promise.all(waiting);
  waiting = [];
});
afterAll(async () => {
  await server.close();
  await Promise.all([hostile.close(), healthy.close()]);
});

function open(url: string, address: string, cookie = "") {
  const headers = { host: "localhost:8080", "sec-fetch-site": "none", "x-forwarded-for": address, cookie };
  return server.app.inject({ method: "GET", url: url.replace(providerTestUrl, ""), headers });
}

function logOut(url: string, token: string, address: string) {
  return server.app.inject({
    method: "POST",
    url: `${url.replace(providerTestUrl, "")}/back-channel-logout`,
    headers: { "content-type": "application/x-www-form-urlencoded", "x-forwarded-for": address },
    payload: `${new URLSearchParams({ logout_token: token })}`,
  });
}

async function cookieOf(url: string, address: string, provider = hostile) {
  const departed = await open(url, address);
  expect(departed.statusCode).toBe(302);
  const callback = provider.approve(new URL(String(departed.headers.location)));
  return { callback: callback.href, cookie: String(departed.headers["set-cookie"]).split(";", 1)[0] ?? "" };
}

/** Whether a person signs in from the address. */
async function signsIn(url: string, address: string, provider = hostile): Promise<boolean> {
  const { callback, cookie } = await cookieOf(url, address, provider);
  return sessionOf(await open(callback, address, cookie)) !== undefined;
}

function hang(path: string): void {
  hostile.deviations = { answer: (asked, response) => asked === path && held.push(response) > 0 };
}

/** Sends requests that wait for the provider. @returns the statuses of those that do not wait */
async function flood(count: number, send: () => Promise<{ readonly statusCode: number }>): Promise<number[]> {
  const refused: number[] = [];
  let settled = 0;
  const sent = Array.from({ length: count }, async () => {
    const { statusCode } = await send();
    settled += 1;
    if (held.length > 0) refused.push(statusCode);
  });
  waiting.push(...sent);
  await until("the provider has a request, and the others have a reply", () => held.length > 0 && settled > 0);
  return refused;
}

/** A sign-in and a logout at the healthy provider of another tenant. */
async function neighbour() {
  const theirs = new ProviderWorld(server, await server.newTenant(), healthy);
  await theirs.invite("ada@example.com");
  return (await theirs.enabledProvider({ firstSignIn: "INVITED", linkVerifiedEmail: true })).signInUrl;
}

test("a start without a slot uses metadata of the last minute", async () => {
  const clock = new TestClock();
  const visits = new ProviderVisits(clock);
  const pages = { issuer: "https://login.example.com" } as ProviderPages; // only passed on
  const visit = { tenantId: "t", providerId: "p", version: 1, addressGroup: attacker } as const;
  expect(await visits.readPages(visit, async () => pages)).toBe(pages);
  let end = (_: ProviderPages): void => undefined;
  const pending = new Promise<ProviderPages>((resolve) => {
    end = resolve;
  });
  // Half of the tenant's slots.
  const waits = Array.from({ length: 50 }, (_, index) =>
    visits.readPages({ ...visit, providerId: `hanging ${index}` }, () => pending),
  );
  const read = () => visits.readPages(visit, () => Promise.reject(new Error("must not be read")));
  expect(await read()).toBe(pages);
  clock.advance(60_000);
  expect(await read()).toBe("busy");
  end(pages);
  await Promise.all(waits);
});

describe("starts from one address", () => {
  test("share the reads of a healthy provider, and leave sign-ins to others", async () => {
    let asked = 0;
    hostile.deviations = { answer: (path) => path.startsWith("/.well-known") && ++asked < 0 };
    const replies = await Promise.all(Array.from({ length: 40 }, () => open(signInUrl, attacker)));
    expect(new Set(replies.map(({ statusCode }) => statusCode))).toEqual(new Set([302]));
    expect(asked).toBeLessThan(replies.length / 2);
    expect(await signsIn(signInUrl, person)).toBe(true);
  });

  test("are refused with 429 beyond a limit, and other addresses are not", async () => {
    for (let started = 0; started < 1_000; started += 100) {
      await Promise.all(Array.from({ length: 100 }, () => open(signInUrl, attacker)));
    }
    const refused = await open(signInUrl, attacker);
    expect([refused.statusCode, refused.json().code]).toEqual([429, "rate_limited"]);
    expect(await signsIn(signInUrl, person)).toBe(true);
  });

  test("at a hanging provider leave starts at another provider of the tenant, and to other tenants", async () => {
    const theirs = await neighbour();
    const other = new ProviderWorld(server, world.tenant, healthy);
    const second = await other.enabledProvider({ name: "Second", linkVerifiedEmail: true, firstSignIn: "INVITED" });
    hang("/.well-known/openid-configuration");
    const refused = await flood(60, () => open(signInUrl, attacker));
    expect(refused.every((status) => status === 503)).toBe(true);
    expect(held).toHaveLength(1);
    expect(await signsIn(second.signInUrl, person, healthy)).toBe(true);
    expect(await signsIn(theirs, person, healthy)).toBe(true);
  });
});

test("returns from one address leave returns to others, in the tenant and elsewhere", async () => {
  const theirs = await neighbour();
  const { callback, cookie } = await cookieOf(signInUrl, attacker);
  hang("/token");
  const refused = await flood(25, () => open(callback, attacker, cookie));
  await until("half of the tenant's slots are taken", () => held.length === 20);
  expect(refused.every((status) => status === 503)).toBe(true);
  hostile.deviations = {};
  expect(await signsIn(signInUrl, person)).toBe(true);
  expect(await signsIn(theirs, attacker, healthy)).toBe(true);
});

test("forged logout tokens for a hanging provider leave sign-ins and logouts to everybody else", async () => {
  const theirs = await neighbour();
  const { callback, cookie } = await cookieOf(signInUrl, person);
  hang("/jwks");
  const forged = hostile.logoutToken({ key: HostileProvider.otherKey() });
  const refused = await flood(60, () => logOut(signInUrl, forged, attacker));
  expect(refused.every((status) => status === 503)).toBe(true);
  // All tokens wait for one answer.
  expect(held).toHaveLength(1);
  expect(await signsIn(theirs, person, healthy)).toBe(true);
  expect((await logOut(theirs, healthy.logoutToken(), person)).statusCode).toBe(200);
  // A genuine token of the same provider gets its slot, and a person who has authenticated signs in.
  waiting.push(logOut(signInUrl, hostile.logoutToken(), person).then((reply) => expect(reply.statusCode).toBe(503)));
  hostile.deviations = {};
  expect(sessionOf(await open(callback, person, cookie))).toBeDefined();
});
