/** Identity providers in configuration documents. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { configurationPath as path } from "../../testing/example-configuration.ts";
import { HostileProvider } from "../../testing/hostile-provider.ts";
import { ProviderWorld, providerTestUrl } from "../../testing/provider-world.ts";
import { ownerOf } from "../../testing/signed-in-person.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let hostile: HostileProvider;
let tenant: TestTenant;
let world: ProviderWorld;

beforeAll(async () => {
  hostile = await HostileProvider.start();
  server = await startTestServer({
    settings: { providerNetworks: ["127.0.0.0/8"], publicUrl: () => providerTestUrl },
  });
});
beforeEach(async () => {
  hostile.deviations = {};
  tenant = await server.newTenant();
  world = new ProviderWorld(server, tenant, hostile);
});
afterAll(async () => {
  await server.close();
  await hostile.close();
});

const example = () => ({ name: "Example", issuer: hostile.issuer, clientId: hostile.clientId });
const apply = (...identityProviders: readonly object[]) =>
  tenant.client.post(`${path}/apply`, { version: 1, identityProviders });
const plan = (...identityProviders: readonly object[]) =>
  tenant.client.must.post(`${path}/plan`, { version: 1, identityProviders });
const exported = async () => (await tenant.client.must.get(path)).body.identityProviders;
const providers = async () => (await tenant.client.must.get("/tenants/identity-providers")).body;

test("an export has all settings of a provider except its secret, and changes nothing when it is applied", async () => {
  await world.enabledProvider({ name: "Example", firstSignIn: "INVITED", linkVerifiedEmail: true, scopes: ["b", "a"] });
  const { text, body } = await tenant.client.must.get(path);
  expect(body.identityProviders).toEqual([
    { ...example(), scopes: ["a", "b"], firstSignIn: "INVITED", linkVerifiedEmail: true, enabled: true },
  ]);
  expect(text).not.toMatch(/secret|a secret with/i);
  expect((await tenant.client.must.post(`${path}/plan`, body)).body.changes).toEqual([]);
});

test("a provider is created disabled and without a secret, and can be applied again", async () => {
  const { status, body } = await apply(example());
  expect([status, body.changes]).toEqual([
    200,
    [{ action: "create", kind: "identity-provider", name: "Example", fields: [] }],
  ]);
  expect(await providers()).toMatchObject([
    { ...example(), enabled: false, hasClientSecret: false, testedAt: null, scopes: ["email", "profile"] },
  ]);
  expect(await exported()).toEqual([example()]);
  expect((await plan(example())).body.changes).toEqual([]);
  const { body: events } = await tenant.client.must.get("/tenants/events?filter[target.type]=identity-provider");
  expect(events.data).toMatchObject([{ target: { type: "identity-provider", name: "Example" } }]);
});

test("a changed provider keeps its id and its secret, and people continue to sign in", async () => {
  const { id, signInUrl } = await world.enabledProvider({ name: "Example" });
  await world.invite("ada@example.com");
  const { body } = await apply({ ...example(), enabled: true, firstSignIn: "INVITED" });
  expect(body.changes[0].fields).toEqual([{ field: "firstSignIn", before: "NEVER", after: "INVITED" }]);
  expect(await providers()).toMatchObject([{ id, hasClientSecret: true, firstSignIn: "INVITED", enabled: true }]);
  expect(await world.isSignedIn(await world.signIn(signInUrl))).toBe(true);
});

test("another connection needs another test sign-in", async () => {
  const { id } = await world.enabledProvider({ name: "Example" });
  await apply(example());
  expect(await providers()).toMatchObject([{ id, enabled: false, testedAt: expect.any(String) }]);
  await apply({ ...example(), clientId: "other" });
  expect(await providers()).toMatchObject([{ id, clientId: "other", testedAt: null, hasClientSecret: true }]);
});

test.each<[string, () => object, string]>([
  ["a new provider that is enabled", () => ({ ...example(), name: "New", enabled: true }), "/enabled"],
  [
    "an issuer without TLS in other networks",
    () => ({ ...example(), name: "New", issuer: "http://192.0.2.1" }),
    "/issuer",
  ],
  ["another client of an enabled provider", () => ({ ...example(), clientId: "other", enabled: true }), ""],
  ["another client of a provider that it disables", () => ({ ...example(), clientId: "other" }), ""],
])("%s is refused, in the plan too", async (_what, entry, field) => {
  await world.enabledProvider({ name: "Example" });
  const refused = await apply(entry());
  expect([refused.status, refused.body.code]).toEqual([422, "invalid_configuration"]);
  expect(refused.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
    `/identityProviders/0${field}`,
  ]);
  const planned = await tenant.client.post(`${path}/plan`, { version: 1, identityProviders: [entry()] });
  expect(planned.body.errors).toEqual(refused.body.errors);
  expect(await providers()).toMatchObject([{ clientId: "gatehouse", enabled: true }]);
});

test("a caller without every permission cannot enable a provider, and can disable it", async () => {
  const { id } = await world.enabledProvider({ name: "Example" });
  const limited = server.client(
    await tenant.keyWith(
      ...([
        "configuration:read",
        "configuration:write",
        "identity-providers:read",
        "identity-providers:write",
      ] as const),
    ),
  );
  const send = (enabled: boolean) =>
    limited.post(`${path}/apply`, { version: 1, identityProviders: [{ ...example(), enabled }] });
  expect((await send(false)).status).toBe(200);
  expect(await send(true)).toMatchObject({ status: 403, body: { code: "grants_exceed_caller" } });
  expect(await providers()).toMatchObject([{ id, enabled: false }]);
});

test("a section without the provider deletes it, unless it is the owner's last sign-in method", async () => {
  const owner = await ownerOf(tenant);
  const { signInUrl } = await world.enabledProvider({ name: "Example", linkVerifiedEmail: true });
  hostile.deviations = { userInfo: (info) => ({ ...info, email: owner.email }) };
  const session = await world.signIn(signInUrl);
  for (const entries of [[], [example()]]) {
    expect(await apply(...entries)).toMatchObject({ status: 409, body: { code: "last_way_in" } });
  }
  expect(await world.isSignedIn(session)).toBe(true);
  const second = await world.enabledProvider({ name: "Second", linkVerifiedEmail: true });
  await world.signIn(second.signInUrl);
  expect(await apply({ ...example(), name: "Second", linkVerifiedEmail: true, enabled: true })).toMatchObject({
    status: 200,
    body: { summary: { created: 0, updated: 0, deleted: 1 } },
  });
  expect(await world.isSignedIn(session)).toBe(false);
  expect(await apply()).toMatchObject({ status: 409, body: { code: "last_way_in" } });
});
