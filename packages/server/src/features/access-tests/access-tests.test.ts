import { randomUUID } from "node:crypto";
import { maxAccessTests } from "@gatehouse/contract/records/access-test";
import { beforeAll, describe, expect, test } from "vitest";
import { createAccessNetwork } from "../../testing/access-network.ts";
import { make, makeId, unique } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
let client: TestClient;
let network: Awaited<ReturnType<typeof createAccessNetwork>>;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  client = tenant.client;
  network = await createAccessNetwork(server, tenant);
});

const path = "/tenants/access-tests";

function newTest(fields: object = {}) {
  return {
    name: unique("Test"),
    subject: { type: "everyone" },
    resource: { type: "resource", id: network.git.id },
    expected: "denied",
    ...fields,
  };
}

const refusal = (pointer: string, code: string, status = 422) => ({ status, body: { code, errors: [{ pointer }] } });

describe("a test that is stored", () => {
  test("has defaults, and the names of its subject and resource", async () => {
    const body = newTest({ subject: { type: "group", id: network.engineers.id } });
    const made = await client.post(path, body);
    expect(made.status, made.text).toBe(201);
    expect(made.body).toEqual({
      id: made.body.id,
      createdAt: made.body.createdAt,
      updatedAt: made.body.createdAt,
      name: body.name,
      enforced: false,
      subject: { type: "group", ...network.engineers },
      device: "any",
      resource: { type: "resource", ...network.git },
      expected: "denied",
    });
    expect((await client.get(`${path}/${made.body.id}`)).body).toEqual(made.body);
  });

  test("accepts names of subjects and resources, and stores their ids", async () => {
    const { ann, engineers, git } = network;
    const byName = await client.post(
      path,
      newTest({
        subject: { type: "user", id: ann.email.toUpperCase() },
        resource: { type: "resource", id: "Git", properties: { protocol: "TCP", port: 22 } },
      }),
    );
    expect(byName.body).toMatchObject({
      subject: { type: "user", id: ann.id, name: ann.email },
      resource: { type: "resource", ...git, properties: { protocol: "TCP", port: 22 } },
    });
    const group = await client.post(path, newTest({ subject: { type: "group", id: "Engineers" } }));
    expect(group.body.subject).toEqual({ type: "group", ...engineers });
    const device = await client.post(path, newTest({ subject: { type: "device", id: ann.device.toUpperCase() } }));
    expect(device.body.subject).toEqual({ type: "device", id: ann.device, name: `Laptop of ${ann.email}` });
  });

  test("stores addresses and circumstances in canonical form", async () => {
    const made = await client.post(
      path,
      newTest({
        device: { posture: { diskEncrypted: true } },
        resource: { type: "address", id: "GIT.Example.COM.", properties: { protocol: "ICMP" } },
        context: { sourceIp: "2001:DB8::1", country: "DE", time: "2026-01-31T13:00:00+01:00" },
      }),
    );
    expect(made.status, made.text).toBe(201);
    expect(made.body).toMatchObject({
      device: { posture: { diskEncrypted: true } },
      resource: { type: "address", id: "git.example.com", properties: { protocol: "ICMP" } },
      context: { sourceIp: "2001:DB8::1", country: "DE", time: "2026-01-31T12:00:00.000Z" },
    });
  });

  test("can be changed in part; a write without changes does nothing", async () => {
    const made = await client.post(path, newTest({ description: "First.", context: { country: "DE" } }));
    const place = `${path}/${made.body.id}`;
    const same = await client.put(place, { enforced: false, subject: { type: "everyone" } });
    expect([same.body, same.headers.etag]).toEqual([made.body, made.headers.etag]);
    const changed = await client.put(place, {
      description: "",
      context: {},
      subject: { type: "group", id: network.engineers.id },
    });
    const { description: _description, context: _context, ...rest } = made.body;
    expect(changed.body).toEqual({
      ...rest,
      updatedAt: changed.body.updatedAt,
      subject: { type: "group", ...network.engineers },
    });
    expect(changed.headers.etag).toBe('"2"');
  });

  test("remains when its records are deleted, can still be changed, and blocks no deletion", async () => {
    const group = await make("group", client);
    const resource = await make("resource", client);
    const body = newTest({
      subject: { type: "group", id: group.id },
      resource: { type: "resource", id: resource.id },
    });
    const { id } = (await client.post(path, body)).body;
    expect((await client.delete(`/tenants/groups/${group.id}`)).status).toBe(204);
    expect((await client.delete(`/tenants/resources/${resource.id}`)).status).toBe(204);
    const changed = await client.put(`${path}/${id}`, { description: "Kept." });
    expect(changed.status, changed.text).toBe(200);
    expect(changed.body).toMatchObject({ subject: { type: "group", id: group.id }, description: "Kept." });
    expect(changed.body.subject.name).toBeUndefined();
    expect(changed.body.resource.name).toBeUndefined();
    expect(await client.put(`${path}/${id}`, { subject: { type: "group", id: group.id } })).toMatchObject(
      refusal("/subject/id", "unknown_reference"),
    );
    expect((await client.delete(`${path}/${id}`)).status).toBe(204);
  });

  test("has a unique name, which is case-sensitive", async () => {
    const { name } = (await client.post(path, newTest())).body;
    expect(await client.post(path, newTest({ name }))).toMatchObject(refusal("/name", "name_taken", 409));
    expect((await client.post(path, newTest({ name: name.toUpperCase() }))).status).toBe(201);
  });
});

describe("invalid tests", () => {
  test.each<[string, object, string, string]>([
    ["everyone with an id", { subject: { type: "everyone", id: "x" } }, "/subject/id", "invalid_combination"],
    ["a group without an id", { subject: { type: "group" } }, "/subject/id", "invalid_combination"],
    [
      "a device with another device",
      { subject: { type: "device", id: randomUUID() }, device: "none" },
      "/device",
      "invalid_combination",
    ],
    [
      "a port without a protocol",
      { resource: { type: "address", id: "git.example.com", properties: { port: 22 } } },
      "/resource/properties/port",
      "invalid_combination",
    ],
    [
      "a port of ICMP",
      { resource: { type: "address", id: "git.example.com", properties: { protocol: "ICMP", port: 22 } } },
      "/resource/properties/port",
      "invalid_combination",
    ],
    ["many addresses", { resource: { type: "address", id: "192.0.2.0/24" } }, "/resource/id", "invalid_address"],
    ["many hosts", { resource: { type: "address", id: "*.example.com" } }, "/resource/id", "invalid_address"],
    ["no address", { resource: { type: "address", id: "not an address" } }, "/resource/id", "invalid_address"],
    ["no source address", { context: { sourceIp: "git.example.com" } }, "/context/sourceIp", "invalid_address"],
    ["an unknown user", { subject: { type: "user", id: "nobody@example.com" } }, "/subject/id", "unknown_reference"],
    ["an unknown resource", { resource: { type: "resource", id: "Nothing" } }, "/resource/id", "unknown_reference"],
    // Only the id identifies a device.
    ["a device by its name", { subject: { type: "device", id: "Laptop" } }, "/subject/id", "unknown_reference"],
  ])("%s", async (_what, fields, pointer, code) => {
    const asked = newTest(fields);
    expect(await client.post(path, asked)).toMatchObject(refusal(pointer, code));
    const { name: _name, ...unnamed } = asked;
    expect(await client.post(`${path}/check`, { test: unnamed })).toMatchObject(refusal(`/test${pointer}`, code));
    const { id } = (await client.post(path, newTest())).body;
    expect(await client.put(`${path}/${id}`, fields)).toMatchObject(refusal(pointer, code));
  });

  test.each<[string, object, string]>([
    ["another device", { device: "some" }, "/device"],
    ["a device with more than a posture", { device: { posture: {}, os: "Linux" } }, "/device"],
    ["a time without a zone", { context: { time: "2026-01-31T12:00:00" } }, "/context/time"],
    ["an invalid country", { context: { country: "Germany" } }, "/context/country"],
    ["a group by a name with a zero byte", { subject: { type: "group", id: "a\u0000b" } }, "/subject/id"],
    ["a resource by such a name", { resource: { type: "resource", id: "a\u0000b" } }, "/resource/id"],
    ["another expectation", { expected: "sometimes" }, "/expected"],
    [
      "a port as text",
      { resource: { type: "address", id: "a.example.com", properties: { protocol: "TCP", port: "22" } } },
      "/resource/properties/port",
    ],
  ])("%s", async (_what, fields, pointer) => {
    expect(await client.post(path, newTest(fields))).toMatchObject(refusal(pointer, "invalid_body", 400));
    const { name: _name, ...unnamed } = newTest(fields);
    expect(await client.post(`${path}/check`, { test: unnamed })).toMatchObject(
      refusal(`/test${pointer}`, "invalid_body", 400),
    );
  });
});

test("a tenant has so many tests at most, however many come at once", async () => {
  const full = await server.newTenant();
  const body = (index: number) => ({
    name: `Test ${index}`,
    subject: { type: "everyone" },
    resource: { type: "address", id: "192.0.2.1" },
    expected: "denied",
  });
  const changes = Array.from({ length: maxAccessTests - 3 }, (_, index) => ({
    method: "POST",
    path,
    body: body(index),
  }));
  while (changes.length > 0) await full.client.must.post("/tenants/changes", { changes: changes.splice(0, 100) });
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, index) => full.client.post(path, body(maxAccessTests + index))),
  );
  expect(replies.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409, 409, 409]);
  expect(replies.find(({ status }) => status === 409)?.body.code).toBe("access_test_limit_reached");
  expect((await full.client.get(`${path}?limit=1`)).body.total).toBe(maxAccessTests);
});

test("only one of many concurrent writes gets a name, and none waits forever", async () => {
  const name = unique("Test");
  const others = await Promise.all([1, 2, 3].map(() => makeId("access-test", client)));
  const replies = await Promise.all([
    ...[1, 2, 3].map(() => client.post(path, newTest({ name }))),
    ...others.map((id) => client.put(`${path}/${id}`, { name })),
  ]);
  expect(replies.filter(({ status }) => status < 300)).toHaveLength(1);
  expect(replies.filter(({ status }) => status === 409)).toHaveLength(5);
});
