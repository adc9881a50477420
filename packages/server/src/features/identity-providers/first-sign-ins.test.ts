import { createSocket } from "node:dgram";
import { once } from "node:events";
import { decode, encode } from "dns-packet";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { txtResolver } from "../../platform/outbound/resolve-txt.ts";
import { HostileProvider } from "../../testing/hostile-provider.ts";
import { ProviderWorld, providerTestUrl, sessionOf } from "../../testing/provider-world.ts";
import { startTestServer, type TestServer } from "../../testing/test-server.ts";

let server: TestServer;
let hostile: HostileProvider;
let world: ProviderWorld;
/** The TXT records of the name server. */
const zone = new Map<string, string[][]>();
const nameServer = createSocket("udp4");

nameServer.on("message", (message, { port, address }) => {
  const { id, questions = [] } = decode(message);
  const answers = questions.flatMap(({ name }) =>
    (zone.get(name.toLowerCase()) ?? []).map((data) => ({ type: "TXT" as const, name, ttl: 1, data })),
  );
  const flags = answers.length === 0 ? 3 : 0; // NXDOMAIN
  nameServer.send(encode({ type: "response", id: id ?? 0, flags, questions, answers }), port, address);
});

beforeAll(async () => {
  nameServer.bind(0, "127.0.0.1");
  await once(nameServer, "listening");
  hostile = await HostileProvider.start();
  server = await startTestServer({
    settings: {
      providerNetworks: ["127.0.0.0/8"],
      publicUrl: () => providerTestUrl,
      resolveTxt: txtResolver([`127.0.0.1:${nameServer.address().port}`]),
    },
  });
});
beforeEach(async () => {
  hostile.deviations = {};
  zone.clear();
  world = new ProviderWorld(server, await server.newTenant(), hostile);
});
afterAll(async () => {
  await server.close();
  await hostile.close();
  nameServer.close();
});

let count = 0;
/** A domain that no other test has. */
const newDomain = () => `d${process.pid}-${Date.now()}-${++count}.example.com`;

async function added(domain: string) {
  return (await world.tenant.client.must.post("/tenants/domains", { domain })).body;
}

async function verified(domain: string) {
  const { id, recordName, recordValue } = await added(domain);
  zone.set(recordName, [["other"], [recordValue.slice(0, 10), recordValue.slice(10)]]);
  return (await world.tenant.client.must.post(`/tenants/domains/${id}/verify`)).body;
}

const sends = (claims: object) => {
  hostile.deviations = { userInfo: (info) => ({ ...info, ...claims }) };
};

describe("a domain", () => {
  test("is verified by its TXT record, which can have several parts", async () => {
    const name = newDomain();
    expect(await verified(name)).toMatchObject({ domain: name, verifiedAt: expect.any(String) });
    const { body } = await world.tenant.client.must.get("/tenants/domains");
    expect(body).toMatchObject([{ domain: name, verifiedAt: expect.any(String) }]);
  });

  test.each<[string, (domain: { recordName: string; recordValue: string; domain: string }) => [string, string]]>([
    ["is missing", () => ["elsewhere.example.com", "x"]],
    ["has another value", ({ recordName }) => [recordName, "gatehouse-domain-verification=00"]],
    ["contains the value among others", ({ recordName, recordValue }) => [recordName, `${recordValue} `]],
    ["is of the domain itself", ({ domain, recordValue }) => [domain, recordValue]],
  ])("is not verified if the record %s", async (_what, record) => {
    const domain = await added(newDomain());
    const [name, value] = record(domain);
    zone.set(name, [[value]]);
    const refused = await world.tenant.client.post(`/tenants/domains/${domain.id}/verify`);
    expect(refused.body).toMatchObject({ code: "domain_not_proven" });
    expect((await world.tenant.client.must.get(`/tenants/domains/${domain.id}`)).body.verifiedAt).toBeNull();
  });

  test("belongs to one tenant, and another learns that only once it proves the domain", async () => {
    const name = newDomain();
    await verified(name);
    const other = await server.newTenant();
    const { body } = await other.client.must.post("/tenants/domains", { domain: name.toUpperCase() });
    const path = `/tenants/domains/${body.id}/verify`;
    expect((await other.client.post(path)).body).toMatchObject({ code: "domain_not_proven" });
    zone.set(body.recordName, [[body.recordValue]]);
    expect((await other.client.post(path)).body).toMatchObject({ code: "domain_taken" });
  });
});

describe("a first sign-in from a domain of the tenant", () => {
  test("creates an active user with the names of the account, and finds the user again by subject", async () => {
    const domain = newDomain();
    await verified(domain);
    const { signInUrl } = await world.enabledProvider({ firstSignIn: "OWN_DOMAINS" });
    sends({ email: `Ada@${domain.toUpperCase()}`, given_name: "Ada", family_name: "Lovelace" });
    const cookie = await world.signIn(signInUrl);
    const { user } = await world.session(cookie);
    expect((await world.tenant.client.must.get(`/tenants/users/${user.id}`)).body).toMatchObject({
      status: "active",
      firstName: "Ada",
      lastName: "Lovelace",
      groups: [{ name: "Default" }],
    });
    const { body } = await world.tenant.client.must.get(`/tenants/events?filter[target.id]=${user.id}`);
    expect(body.data).toMatchObject([{ operation: "signIn", actor: { type: "system" } }]);
    sends({ email: "other@example.com" });
    expect(await world.session(await world.signIn(signInUrl))).toMatchObject({ user: { id: user.id } });
  });

  test.each<[string, object, (domain: string) => string]>([
    ["an unverified address", { email_verified: false }, (domain) => `ada@${domain}`],
    ["a subdomain", {}, (domain) => `ada@mail.${domain}`],
    ["a domain that ends the same", {}, (domain) => `ada@x${domain}`],
    ["the domain as local part", {}, (domain) => `${domain}@example.com`],
    ["two addresses", {}, (domain) => `ada@example.com,b@${domain}`],
    ["a header", {}, (domain) => `ada\r\n@${domain}`],
  ])("is refused with %s", async (_what, claims, email) => {
    const domain = newDomain();
    await verified(domain);
    const { signInUrl } = await world.enabledProvider({ firstSignIn: "OWN_DOMAINS" });
    sends({ email: email(domain), ...claims });
    const refused = await world.visit(signInUrl);
    expect([refused.statusCode, sessionOf(refused)]).toEqual([401, undefined]);
    expect((await world.tenant.client.must.get("/tenants/users")).body.total).toBe(1);
  });

  test("is refused while the domain is not verified, or another tenant's, and after its deletion", async () => {
    const domain = newDomain();
    const { signInUrl } = await world.enabledProvider({ firstSignIn: "OWN_DOMAINS" });
    const { id } = await added(domain);
    sends({ email: `ada@${domain}` });
    expect((await world.visit(signInUrl)).statusCode).toBe(401);
    await world.tenant.client.must.delete(`/tenants/domains/${id}`);
    const again = await verified(domain);
    await world.tenant.client.must.delete(`/tenants/domains/${again.id}`);
    expect((await world.visit(signInUrl)).statusCode).toBe(401);
    const theirs = new ProviderWorld(server, await server.newTenant(), hostile);
    const { signInUrl: elsewhere } = await theirs.enabledProvider({ firstSignIn: "OWN_DOMAINS" });
    await verified(domain);
    sends({ email: `ada@${domain}` });
    expect((await theirs.visit(elsewhere)).statusCode).toBe(401);
  });
});

describe("an account that somebody prepared", () => {
  test("at a provider that does not verify addresses never becomes the account of the address's owner", async () => {
    const id = await world.invite("ada@example.com");
    const { signInUrl } = await world.enabledProvider({ firstSignIn: "INVITED", linkVerifiedEmail: true });
    sends({ sub: "subject-1", email_verified: false });
    expect((await world.visit(signInUrl)).statusCode).toBe(401);
    // The refused account left nothing behind that a later sign-in could find.
    sends({ sub: "subject-1", email: "attacker@example.com" });
    expect((await world.visit(signInUrl)).statusCode).toBe(401);
    expect((await world.tenant.client.must.get(`/tenants/users/${id}`)).body.status).toBe("pending");
  });

  test("under an address keeps its own user when the provider gives the address to somebody else", async () => {
    const id = await world.invite("ada@example.com");
    const { signInUrl } = await world.enabledProvider({ firstSignIn: "INVITED" });
    await world.signIn(signInUrl);
    // A new person at the provider gets the address of a leaver: the link switch is off.
    hostile.deviations = {
      claims: (claims) => ({ ...claims, sub: "subject-2" }),
      userInfo: (info) => ({ ...info, sub: "subject-2" }),
    };
    expect((await world.visit(signInUrl)).statusCode).toBe(401);
    expect(await world.signIns()).toMatchObject([
      { outcome: "failed", user: { id }, reason: expect.stringContaining("linkVerifiedEmail is off") },
      { outcome: "succeeded", user: { id } },
    ]);
  });

  test("at one provider is not the account with the same subject at another", async () => {
    await world.invite("ada@example.com");
    const first = await world.enabledProvider({ firstSignIn: "INVITED" });
    await world.signIn(first.signInUrl);
    const second = await world.enabledProvider({ name: "Second" });
    expect((await world.visit(second.signInUrl)).statusCode).toBe(401);
  });
});

describe("groups of a provider", () => {
  const groupsOf = async (id: string): Promise<string[]> => {
    const { body } = await world.tenant.client.must.get(`/tenants/users/${id}`);
    return body.groups.map(({ name }: { name: string }) => name).sort();
  };
  const newGroup = async (name: string, ...idpMapping: string[]): Promise<string> =>
    (await world.tenant.client.must.post("/tenants/groups", { name, idpMapping })).body.id;

  test("give and end memberships at each sign-in, with an event, and leave direct memberships", async () => {
    const id = await world.invite("ada@example.com");
    const both = await newGroup("Both", "Engineers");
    await newGroup("Mapped", "Engineers", "Other");
    await newGroup("Unmapped", "Sales");
    await world.tenant.client.must.post(`/tenants/users/${id}/groups`, { groupId: both });
    const { signInUrl } = await world.enabledProvider({ firstSignIn: "INVITED" });
    await world.signIn(signInUrl);
    expect(await groupsOf(id)).toEqual(["Both", "Default", "Mapped"]);
    const path = `/tenants/events?filter[target.id]=${id}&filter[operation]=signIn&sort=position`;
    const before = (await world.tenant.client.must.get(path)).body.data;
    expect(before.at(-1).after.groups).toHaveLength(3);
    await world.signIn(signInUrl);
    expect((await world.tenant.client.must.get(path)).body.data).toHaveLength(before.length);
    sends({ groups: [] });
    await world.signIn(signInUrl);
    expect(await groupsOf(id)).toEqual(["Both", "Default"]);
    expect((await world.tenant.client.must.get(path)).body.data).toHaveLength(before.length + 1);
  });

  test.each<[string, object]>([
    ["no claim", { groups: undefined }],
    ["an object", { groups: { Engineers: true } }],
    ["other letters", { groups: ["engineers"] }],
  ])("that are %s end the memberships", async (_what, claims) => {
    const id = await world.invite("ada@example.com");
    await newGroup("Mapped", "Engineers");
    const { signInUrl } = await world.enabledProvider({ firstSignIn: "INVITED" });
    await world.signIn(signInUrl);
    sends(claims);
    await world.signIn(signInUrl);
    expect(await groupsOf(id)).toEqual(["Default"]);
  });

  test("that the provider only refers to stay as they are, and the sign-in log says so", async () => {
    const id = await world.invite("ada@example.com");
    await newGroup("Mapped", "Engineers");
    const { signInUrl } = await world.enabledProvider({ firstSignIn: "INVITED" });
    await world.signIn(signInUrl);
    const overage = { email: "ada@example.com", _claim_names: { groups: "src1" }, _claim_sources: { src1: {} } };
    hostile.deviations = { claims: (claims) => ({ ...claims, ...overage }) };
    await world.signIn(signInUrl);
    expect(await groupsOf(id)).toEqual(["Default", "Mapped"]);
    const [latest] = await world.signIns();
    expect(latest).toMatchObject({ outcome: "succeeded", note: expect.stringContaining("_claim_names") });
  });

  test("of one provider do not end what another one gives", async () => {
    const id = await world.invite("ada@example.com");
    await newGroup("Mapped", "Engineers");
    const first = await world.enabledProvider({ firstSignIn: "INVITED" });
    const second = await world.enabledProvider({ name: "Second", linkVerifiedEmail: true });
    await world.signIn(first.signInUrl);
    await world.signIn(second.signInUrl);
    sends({ groups: [] });
    await world.signIn(first.signInUrl);
    expect(await groupsOf(id)).toEqual(["Default", "Mapped"]);
    await world.signIn(second.signInUrl);
    expect(await groupsOf(id)).toEqual(["Default"]);
  });

  test("give permissions with the roles of the group, and a sign-in never leaves a person without a group", async () => {
    const id = await world.invite("ada@example.com");
    const { body: roles } = await world.tenant.client.must.get("/tenants/roles");
    const auditor = roles.find(({ type }: { type: string }) => type === "AUDITOR").id;
    const group = { name: "Auditors", idpMapping: ["Engineers"], roles: [auditor] };
    await world.tenant.client.must.post("/tenants/groups", group);
    const { signInUrl } = await world.enabledProvider({ firstSignIn: "INVITED" });
    const cookie = await world.signIn(signInUrl);
    expect((await world.session(cookie)).permissions).toContain("events:read");
    const { body } = await world.tenant.client.must.get(`/tenants/users/${id}`);
    const removedGroups = body.groups.filter(({ name }: { name: string }) => name === "Default");
    await world.tenant.client.must.patch(`/tenants/users/${id}/groups`, {
      removedGroups: removedGroups.map((removed: { id: string }) => removed.id),
    });
    sends({ groups: ["Nothing"] });
    await world.signIn(signInUrl);
    expect(await groupsOf(id)).toEqual(["Default"]);
    expect((await world.session(cookie)).permissions).not.toContain("events:read");
  });
});
