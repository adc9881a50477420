/** Hostile approvals of devices, codes of enrolments, and enrolment keys that end while servers present them. */
import { randomBytes } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { makeId, publicKey, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { activeUser, personClient, signInAs } from "../../testing/signed-in-person.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { storeDeviceRequest } from "./authorizations.queries.ts";

let server: TestServer;
let tenant: TestTenant;
let addresses = 0;

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  tenant = await server.newTenant();
});

const machine = () => ({ machine: unique("Laptop"), hardware_id: unique("Serial"), public_key: publicKey() });

async function program(url: string, form: Readonly<Record<string, string>>) {
  addresses += 1;
  const response = await server.app.inject({
    method: "POST",
    url,
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "x-forwarded-for": `2001:db8:7:${addresses.toString(16)}::1`,
    },
    payload: new URLSearchParams({ client_id: "gatehouse-device", ...form }).toString(),
  });
  return { status: response.statusCode, body: response.json() };
}

async function personIn(of: TestTenant, roles: readonly string[] = []) {
  const user = await activeUser(server, of, uniqueEmail(), roles);
  return { user, ...personClient(server, await signInAs(server, of.id, user.id)) };
}
type Person = Awaited<ReturnType<typeof personIn>>;

const codesOf = async () => (await program("/oauth/device_authorization", machine())).body;
const answer = (person: Person, code: string, more: Readonly<Record<string, string>> = {}) =>
  person.send("POST", "/console/device-authorization", { code, approve: true }, more);
const poll = (code: string) =>
  program("/oauth/token", { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code: code });

/** A device that waits for an administrator. */
async function waitingDevice(person: Person): Promise<string> {
  await tenant.client.must.put("/tenants/settings", { deviceApproval: "administrator" });
  const codes = await codesOf();
  expect((await answer(person, codes.user_code)).status).toBe(200);
  const { body } = await poll(codes.device_code);
  expect(body.device.approval).toBe("pending");
  return body.device.id;
}

const approve = (by: Pick<Person, "send">, id: string, more: Readonly<Record<string, string>> = {}) =>
  by.send("POST", `/tenants/devices/${id}/reactivate`, undefined, more);
const isPending = async (id: string) =>
  (await tenant.client.must.get(`/tenants/devices/${id}`)).body.approval === "pending";

describe("the approval of a device by an administrator", () => {
  test("is refused to its user, to auditors, to other tenants, and to pages of other sites", async () => {
    const [user, auditor, administrator] = [
      await personIn(tenant),
      await personIn(tenant, ["AUDITOR"]),
      await personIn(tenant, ["ADMIN"]),
    ];
    const id = await waitingDevice(user);
    const elsewhere = await server.newTenant();
    const stranger = await personIn(elsewhere, ["ADMIN"]);
    expect((await approve(user, id)).body.code).toBe("permission_denied");
    expect((await approve(auditor, id)).body.code).toBe("permission_denied");
    expect((await approve(stranger, id)).body.code).toBe("not_found");
    expect((await elsewhere.client.post(`/tenants/devices/${id}/reactivate`)).status).toBe(404);
    expect((await approve(administrator, id, { "sec-fetch-site": "cross-site" })).body.code).toBe("foreign_origin");
    expect((await approve(administrator, id, { "sec-fetch-site": "same-site" })).body.code).toBe("foreign_origin");
    expect(await isPending(id)).toBe(true);
    expect((await approve(administrator, id)).status).toBe(201);
    expect(await isPending(id)).toBe(false);
  });

  test("happens once, and not after a refusal", async () => {
    const [user, administrator] = [await personIn(tenant), await personIn(tenant, ["ADMIN"])];
    const [twice, refused, raced] = [
      await waitingDevice(user),
      await waitingDevice(await personIn(tenant)),
      await waitingDevice(await personIn(tenant)),
    ];
    const replies = await Promise.all([approve(administrator, twice), approve(tenant.client, twice)]);
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409]);
    await tenant.client.must.delete(`/tenants/devices/${refused}`);
    expect((await approve(administrator, refused)).status).toBe(404);
    const [approved, deleted] = await Promise.all([
      approve(administrator, raced),
      tenant.client.delete(`/tenants/devices/${raced}`),
    ]);
    expect([[201, 404].includes(approved.status), deleted.status]).toEqual([true, 204]);
    expect((await tenant.client.get(`/tenants/devices/${raced}`)).status).toBe(404);
    const { body } = await tenant.client.must.get("/tenants/events?filter[operation]=reactivateDevice");
    expect(body.data.filter(({ target }: { target: { id: string } }) => target.id === twice)).toHaveLength(1);
  });

  test("of a version that has changed since is refused", async () => {
    const [user, administrator] = [await personIn(tenant), await personIn(tenant, ["ADMIN"])];
    const id = await waitingDevice(user);
    const { headers } = await tenant.client.must.get(`/tenants/devices/${id}`);
    await tenant.client.must.put(`/tenants/devices/${id}/tags`, { tags: ["unknown"] });
    const stale = await approve(administrator, id, { "if-match": headers.etag ?? "" });
    expect([stale.status, await isPending(id)]).toEqual([412, true]);
  });

  test("cannot be given by a sign-in on the device, nor by a second enrolment of the machine", async () => {
    const user = await personIn(tenant);
    await tenant.client.must.patch(`/tenants/users/${user.user.id}`, { maxDevices: 5 });
    await tenant.client.must.put("/tenants/settings", { deviceApproval: "administrator" });
    const codes = await codesOf();
    await answer(user, codes.user_code);
    const { body } = await poll(codes.device_code);
    const again = (await program("/oauth/device_authorization", { device_token: body.access_token })).body;
    await answer(user, again.user_code);
    await poll(again.device_code);
    expect(await isPending(body.device.id)).toBe(true);
    const second = await waitingDevice(user);
    expect([await isPending(body.device.id), await isPending(second)]).toEqual([true, true]);
  });
});

describe("the code of an enrolment", () => {
  test("is approved once, by one of its readers, and never by a page of another site", async () => {
    const [ann, bob] = [await personIn(tenant), await personIn(await server.newTenant())];
    const codes = await codesOf();
    expect((await answer(ann, codes.user_code, { "sec-fetch-site": "cross-site" })).body.code).toBe("foreign_origin");
    const replies = await Promise.all([answer(ann, codes.user_code), answer(bob, codes.user_code)]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 404]);
    expect((await answer(ann, codes.user_code)).body.code).toBe("not_found");
    const polls = await Promise.all([poll(codes.device_code), poll(codes.device_code)]);
    expect(polls.map(({ status }) => status).sort()).toEqual([200, 400]);
  });

  test("that was refused enrols nothing", async () => {
    const ann = await personIn(tenant);
    const codes = await codesOf();
    await ann.send("POST", "/console/device-authorization", { code: codes.user_code, approve: false });
    expect((await answer(ann, codes.user_code)).body.code).toBe("not_found");
    expect((await poll(codes.device_code)).body.error).toBe("access_denied");
    expect((await tenant.client.must.get(`/tenants/devices?filter[user.id]=${ann.user.id}`)).body.total).toBe(0);
  });
});

describe("an enrolment key that ends while servers present it", () => {
  const enrol = (key: string) =>
    program("/oauth/token", {
      grant_type: "urn:gatehouse:oauth:grant-type:enrolment-key",
      enrolment_key: key,
      ...machine(),
    });

  test.each([
    ["by a revocation", (id: string) => tenant.client.must.post(`/tenants/enrolment-keys/${id}/revoke`)],
    ["by its deletion", (id: string) => tenant.client.must.delete(`/tenants/enrolment-keys/${id}`)],
  ])("%s enrols as many devices as it counts, and none afterwards", async (_how, end) => {
    const userId = await makeId("user", tenant.client);
    await tenant.client.must.patch(`/tenants/users/${userId}`, { maxDevices: 20 });
    const { body: key } = await tenant.client.must.post("/tenants/enrolment-keys", {
      name: unique("Servers"),
      userId,
      maxUses: 20,
    });
    const enrolling = Array.from({ length: 6 }, () => enrol(key.key));
    const [answers] = await Promise.all([Promise.all(enrolling), end(key.id)]);
    expect((await enrol(key.key)).body.error).toBe("invalid_grant");
    const enrolled = answers.filter(({ status }) => status === 200).length;
    const { body } = await tenant.client.must.get(`/tenants/devices?filter[user.id]=${userId}`);
    expect(body.total).toBe(enrolled);
    const { body: stored } = await tenant.client.get(`/tenants/enrolment-keys/${key.id}`);
    if (stored.code === undefined) expect(stored.uses).toBe(enrolled);
  });
});

test("few codes are pending for a /48 of IPv6, so that one customer cannot take all of them", async () => {
  const number = 0x1000 | (randomBytes(2).readUInt16BE() & 0xefff);
  const [block, other] = [number, number ^ 1].map((part) => `2001:db8:${part.toString(16)}`);
  const limits = { total: 10_000, fromAddress: 2, fromNetwork: 3 };
  const store = (addressGroup: string, bounds = limits) =>
    storeDeviceRequest(
      server.database,
      {
        deviceCodeHash: randomBytes(32),
        userCodeHash: randomBytes(32),
        oauthClient: "gatehouse-device",
        machine: "Laptop",
        address: addressGroup,
        addressGroup,
        maxAge: null,
        device: null,
        expiresAt: new Date(Date.now() + 600_000),
      },
      new Date(),
      bounds,
    );
  // Requests of other tests may have no known address either.
  expect(await store("unknown", { ...limits, fromAddress: 10_000 })).toBe(true);
  const stored = [await store(`${block}:1::`), await store(`${block}:1::`), await store(`${block}:1::`)];
  expect(stored).toEqual([true, true, false]);
  expect([await store(`${block}:2::`), await store(`${block}:ffff::`)]).toEqual([true, false]);
  expect(await store(`${other}:1::`)).toBe(true);
});
