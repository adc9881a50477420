import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { makeId, publicKey, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { personClient, signInAs } from "../../testing/signed-in-person.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { readKeyHashes } from "./testing/key-hashes.queries.ts";

const dayMs = 86_400_000;
const grant = "urn:gatehouse:oauth:grant-type:enrolment-key";
const clock = new TestClock();
let server: TestServer;
let tenant: TestTenant;
let addresses = 0;

beforeAll(async () => {
  const settings = { trustedProxies: ["127.0.0.1"], rateLimits: { perMinute: 0, authFailures: 5, shared: false } };
  server = await startTestServer({ clock, settings });
  tenant = await server.newTenant();
});
afterAll(() => server.close());

type Fields = Readonly<Record<string, unknown>>;

async function newKey(fields: Fields = {}) {
  const userId = fields.userId ?? (await makeId("user", tenant.client));
  const body = { name: unique("Servers"), userId, maxUses: 3, tags: ["build", "site:a"], ...fields };
  return (await tenant.client.must.post("/tenants/enrolment-keys", body)).body;
}

const machine = () => ({
  machine: unique("Server"),
  os: "Debian GNU/Linux",
  os_version: "13",
  hardware_id: unique("Serial"),
  public_key: publicKey(),
});

/** Presents a key, by default from its own address, because failures count for an address. */
async function enrol(key: string, changes: Readonly<Record<string, string>> = {}, address = nextAddress()) {
  const form = { grant_type: grant, client_id: "gatehouse-device", enrolment_key: key, ...machine(), ...changes };
  const response = await server.app.inject({
    method: "POST",
    url: "/oauth/token",
    headers: { "content-type": "application/x-www-form-urlencoded", "x-forwarded-for": address },
    payload: new URLSearchParams(form).toString(),
  });
  return { status: response.statusCode, body: response.json() };
}

function nextAddress(): string {
  addresses += 1;
  return `2001:db8:2:${addresses.toString(16)}::1`;
}

const read = async (id: string) => (await tenant.client.must.get(`/tenants/enrolment-keys/${id}`)).body;
const deviceOf = async (id: string) => (await tenant.client.must.get(`/tenants/devices/${id}`)).body;

describe("an enrolment key", () => {
  test("is shown once and stored as a hash", async () => {
    const { key, ...shown } = await newKey();
    expect(key).toMatch(/^gatehouse_enrolkey_[0-9A-Za-z]{49}$/);
    expect(shown).toMatchObject({ status: "active", uses: 0, maxUses: 3, tags: ["build", "site:a"] });
    expect(key.startsWith(shown.prefix.slice(0, -1))).toBe(true);
    expect(await read(shown.id)).toEqual(shown);
    const { text } = await tenant.client.must.get("/tenants/enrolment-keys");
    const { text: events } = await tenant.client.must.get(`/tenants/events?filter[target.id]=${shown.id}`);
    expect(text + events).not.toContain(key);
    expect(await readKeyHashes(server.database, tenant.id, shown.id)).toEqual([expect.any(Buffer)]);
  });

  test("enrols a server whose trust does not end with a session, because nobody can sign in on it", async () => {
    const { client } = tenant;
    await client.must.put("/tenants/settings", { deviceSessionLifetime: 900 });
    const { body } = await enrol((await newKey()).key);
    const byPerson = await makeId("device", client);
    expect(await deviceOf(body.device.id)).not.toHaveProperty("session");
    expect(await deviceOf(byPerson)).toHaveProperty("session.endsAt");
    await client.must.put("/tenants/settings", { deviceSessionLifetime: null });
  });

  test("enrols a server as a device of its user, with its tags, and the audit record names the key", async () => {
    const key = await newKey();
    // Such devices do not wait, because an administrator made the key.
    await tenant.client.must.put("/tenants/settings", { deviceApproval: "administrator" });
    const { status, body } = await enrol(key.key);
    await tenant.client.must.put("/tenants/settings", { deviceApproval: "automatic" });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.access_token).toMatch(/^gatehouse_device_/);
    const device = await deviceOf(body.device.id);
    expect(device).toMatchObject({
      active: true,
      tags: ["build", "site:a"],
      enrolmentKey: key.id,
      user: { id: key.user.id },
    });
    expect(await read(key.id)).toMatchObject({ uses: 1, status: "active", lastUsedAt: expect.any(String) });
    const { body: events } = await tenant.client.must.get(`/tenants/events?filter[target.id]=${device.id}`);
    expect(events.data.map(({ actor }: { actor: object }) => actor)).toEqual(
      Array.from({ length: 2 }, () => ({ type: "enrolment-key", id: key.id, name: key.name })),
    );
    const { body: found } = await tenant.client.must.get(`/tenants/devices?filter[enrolmentKey]=${key.id}`);
    expect(found.data.map(({ id }: { id: string }) => id)).toEqual([device.id]);
  });

  test("ends with its uses, its expiry, its revocation or its deletion, all with the same answer", async () => {
    const [unknown, used, revoked, deleted, other] = [
      generateToken(tokenPrefixes.enrolmentKey),
      await newKey({ maxUses: 1 }),
      await newKey(),
      await newKey(),
      await newKey({ expiresAt: new Date(clock.now().getTime() + dayMs).toISOString() }),
    ];
    expect((await enrol(used.key)).status).toBe(200);
    await tenant.client.must.post(`/tenants/enrolment-keys/${revoked.id}/revoke`);
    await tenant.client.must.delete(`/tenants/enrolment-keys/${deleted.id}`);
    clock.advance(dayMs);
    const answers = [];
    for (const { key } of [{ key: unknown }, used, revoked, deleted, other, { key: "x" }])
      answers.push(await enrol(key));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    const states = await Promise.all([used, revoked, other].map(async ({ id }) => (await read(id)).status));
    expect(states).toEqual(["used-up", "revoked", "expired"]);
  });

  test("of a deactivated user enrols nothing, and works again after the reactivation", async () => {
    const key = await newKey();
    await tenant.client.must.patch(`/tenants/users/${key.user.id}/deactivate`);
    expect((await enrol(key.key)).body.error).toBe("invalid_grant");
    expect((await read(key.id)).uses).toBe(0);
    await tenant.client.must.post(`/tenants/users/${key.user.id}/reactivate`);
    expect((await enrol(key.key)).status).toBe(200);
  });

  test("that is used concurrently enrols as many devices as it may", async () => {
    const key = await newKey({ maxUses: 2 });
    const answers = await Promise.all(Array.from({ length: 8 }, () => enrol(key.key)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 400, 400, 400, 400, 400, 400]);
    expect(await read(key.id)).toMatchObject({ uses: 2, status: "used-up" });
    const { body } = await tenant.client.must.get(`/tenants/devices?filter[enrolmentKey]=${key.id}`);
    expect(body.data).toHaveLength(2);
  });

  test("gives a server whose answer was lost another token, without a further use", async () => {
    const key = await newKey({ maxUses: 1 });
    const same = machine();
    const [first, second] = [await enrol(key.key, same), await enrol(key.key, same)];
    expect(second.body.device).toEqual(first.body.device);
    expect(second.body.access_token).not.toBe(first.body.access_token);
    expect((await enrol(key.key, { ...same, hardware_id: "another" })).body.error).toBe("invalid_grant");
    clock.advance(11 * 60_000);
    expect((await enrol(key.key, same)).body.error).toBe("invalid_grant");
  });

  test("explains what is wrong with the device to the holder of a valid key, and counts no use", async () => {
    const userId = await makeId("user", tenant.client);
    await tenant.client.must.patch(`/tenants/users/${userId}`, { maxDevices: 1 });
    const key = await newKey({ userId });
    const taken = machine();
    expect((await enrol((await newKey()).key, taken)).status).toBe(200);
    expect((await enrol(key.key, { public_key: taken.public_key })).body).toMatchObject({
      error: "invalid_request",
      error_description: expect.stringContaining("Another device has the public key"),
    });
    for (const name of ["hardware_id", "app_version"]) {
      expect((await enrol(key.key, { [name]: "a\u001b[2Jb" })).body.error, name).toBe("invalid_request");
    }
    expect((await enrol(key.key)).status).toBe(200);
    expect((await enrol(key.key)).body.error_description).toContain("The limit is 1.");
    expect((await enrol(key.key, { machine: "a\u202eb" })).body.error).toBe("invalid_request");
    expect((await enrol(key.key, { client_id: "gatehouse-cli" })).body.error).toBe("invalid_grant");
    expect((await read(key.id)).uses).toBe(1);
  });

  test("belongs to one tenant", async () => {
    const other = await server.newTenant();
    const key = await newKey();
    for (const send of [
      () => other.client.get(`/tenants/enrolment-keys/${key.id}`),
      () => other.client.post(`/tenants/enrolment-keys/${key.id}/revoke`),
      () => other.client.delete(`/tenants/enrolment-keys/${key.id}`),
    ]) {
      expect((await send()).status).toBe(404);
    }
    const stolen = { name: "Servers", userId: key.user.id };
    expect((await other.client.post("/tenants/enrolment-keys", stolen)).body.code).toBe("unknown_reference");
    const { body } = await enrol(key.key);
    expect(body.tenant.id).toBe(tenant.id);
  });

  test("that is guessed blocks the address, whatever it presents next", async () => {
    const [key, address] = [await newKey(), nextAddress()];
    for (let guess = 0; guess < 5; guess += 1) {
      const { body } = await enrol(`gatehouse_enrolkey_${randomBytes(20).toString("hex")}`, {}, address);
      expect(body.error).toBe("invalid_grant");
    }
    expect((await enrol(key.key, {}, address)).status).toBe(429);
    expect((await enrol(key.key)).status).toBe(200);
  });

  test("serves no other purpose, and pages cannot present it", async () => {
    const key = await newKey();
    expect((await server.client(key.key).get("/tenants/devices")).body.code).toBe("invalid_api_key");
    const response = await server.app.inject({
      method: "POST",
      url: "/oauth/token",
      headers: { "content-type": "application/x-www-form-urlencoded", origin: "https://example.net" },
      payload: new URLSearchParams({ grant_type: grant, enrolment_key: key.key, ...machine() }).toString(),
    });
    expect(response.json().error).toBe("invalid_request");
  });
});

describe("the settings of an enrolment key", () => {
  test("can be changed, but not into the past, too far ahead, or beyond the calling key", async () => {
    const key = await newKey();
    const path = `/tenants/enrolment-keys/${key.id}`;
    const at = (days: number) => new Date(clock.now().getTime() + days * dayMs).toISOString();
    const { body } = await tenant.client.must.put(path, { name: "Renamed", expiresAt: at(90) });
    expect(body).toMatchObject({ name: "Renamed", expiresAt: at(90) });
    for (const expiresAt of [at(-1), at(367)]) {
      expect((await tenant.client.put(path, { expiresAt })).body.code).toBe("invalid_combination");
    }
    const { body: short } = await tenant.client.must.post("/tenants/api-keys", {
      name: unique("Key"),
      permissions: ["devices:read", "devices:write"],
      expiresAt: at(2),
    });
    const limited = server.client(short.key);
    expect((await limited.put(path, { expiresAt: at(3) })).body.code).toBe("grants_exceed_caller");
    const made = await limited.must.post("/tenants/enrolment-keys", { name: "Short", userId: key.user.id });
    expect(made.body.expiresAt).toBe(at(2));
  });

  test.each([
    [{ maxUses: 0 }],
    [{ maxUses: 10_001 }],
    [{ tags: ["Build"] }],
    [{ tags: ["build", "build"] }],
    [{ tags: Array.from({ length: 33 }, (_, index) => `tag-${index}`) }],
    [{ tags: ["a".repeat(64)] }],
  ])("are bounded: %j", async (fields) => {
    const body = { name: "Servers", userId: await makeId("user", tenant.client), ...fields };
    expect((await tenant.client.post("/tenants/enrolment-keys", body)).body.code).toBe("invalid_body");
  });

  test("cannot name a deactivated user, and the keys of a deleted user are deleted with an entry", async () => {
    const key = await newKey();
    await tenant.client.must.patch(`/tenants/users/${key.user.id}/deactivate`);
    const body = { name: "Servers", userId: key.user.id };
    expect((await tenant.client.post("/tenants/enrolment-keys", body)).body.code).toBe("user_deactivated");
    await tenant.client.must.delete(`/tenants/users/${key.user.id}`);
    expect((await enrol(key.key)).body.error).toBe("invalid_grant");
    const { body: events } = await tenant.client.must.get(
      `/tenants/events?filter[target.id]=${key.id}&sort=-position&limit=1`,
    );
    expect(events.data[0]).toMatchObject({ operation: "deleteUser", target: { type: "enrolment-key" } });
    expect(events.data[0]).not.toHaveProperty("after");
  });

  test("are for administrators: a person who may only read creates none", async () => {
    const userId = (await tenant.client.must.post("/tenants/users", { email: uniqueEmail() })).body.id;
    const key = await newKey({ userId });
    expect((await enrol(key.key)).status).toBe(200);
    const person = personClient(server, await signInAs(server, tenant.id, userId));
    expect((await person.post("/tenants/enrolment-keys", { name: "Mine", userId })).status).toBe(403);
  });
});
