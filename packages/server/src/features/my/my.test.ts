import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { makeId, publicKey, unique } from "../../testing/operations/test-records.ts";
import { activeUser, signInAs } from "../../testing/signed-in-person.ts";
import { sharedTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
let ann: { readonly id: string; readonly client: TestClient };

async function person(email: string, of: TestTenant = tenant) {
  const { id } = await activeUser(server, of, email);
  // A command, so that the models of replicas follow.
  await of.client.must.patch(`/tenants/users/${id}`, { maxDevices: 10 });
  return { id, client: server.client(undefined, await signInAs(server, of.id, id)) };
}

async function enrol(userId: string, name: string, of: TestTenant = tenant): Promise<string> {
  const body = { name, userId, hardwareId: unique("hardware"), publicKey: publicKey() };
  return (await of.client.must.post("/tenants/devices", body)).body.id;
}

async function resource(name: string, address: string): Promise<string> {
  const { body: protocols } = await tenant.client.must.get("/tenants/protocols");
  const all = protocols.find(({ type }: { type: string }) => type === "ALL").id;
  const body = { name, type: "PRIVATE", addresses: [{ address, protocols: [all] }] };
  return (await tenant.client.must.post("/tenants/resources", body)).body.id;
}

async function rule(text: string, hasTimeConstraint = false): Promise<string> {
  const body = { name: unique("Rule"), rule: text, hasTimeConstraint };
  return (await tenant.client.must.post("/tenants/admission-rules", body)).body.id;
}

const policy = (body: object) =>
  tenant.client.must.post("/tenants/policies", { name: unique("Policy"), type: "PRIVATE", action: true, ...body });

beforeAll(async () => {
  server = await sharedTestServer();
});

beforeEach(async () => {
  tenant = await server.newTenant();
  ann = await person("ann@example.com");
});

describe("a person without roles", () => {
  test("sees who is signed in, and the device limit", async () => {
    await tenant.client.must.patch(`/tenants/users/${ann.id}`, { maxDevices: 3 });
    await enrol(ann.id, "Laptop");
    const { body } = await ann.client.must.get("/tenants/my");
    expect(body).toMatchObject({ id: ann.id, email: "ann@example.com", devices: 1, deviceLimit: 3 });
  });

  test("lists, reads, renames and removes own devices, as the actor of the changes", async () => {
    const id = await enrol(ann.id, "Laptop");
    expect((await ann.client.must.get("/tenants/my/devices")).body).toMatchObject([{ id, name: "Laptop" }]);
    const { headers } = await ann.client.must.get(`/tenants/my/devices/${id}`);
    const renamed = await ann.client.must.patch(
      `/tenants/my/devices/${id}`,
      { name: "Work laptop" },
      { "if-match": headers.etag ?? "" },
    );
    expect(renamed.body.name).toBe("Work laptop");
    expect(renamed.headers.etag).not.toBe(headers.etag);
    const stale = await ann.client.patch(
      `/tenants/my/devices/${id}`,
      { name: "Old" },
      { "if-match": headers.etag ?? "" },
    );
    expect(stale.status).toBe(412);
    await ann.client.must.delete(`/tenants/my/devices/${id}`);
    expect((await ann.client.must.get("/tenants/my/devices")).body).toEqual([]);
    const { body: events } = await tenant.client.must.get(`/tenants/events?filter[target.id]=${id}&sort=createdAt`);
    const written = events.data.map(({ operation, actor }: { operation: string; actor: { id: string } }) => [
      operation,
      actor.id,
    ]);
    expect(written.slice(1)).toEqual([
      ["renameMyDevice", ann.id],
      ["removeMyDevice", ann.id],
    ]);
  });

  test("removes a device that policies name", async () => {
    const id = await enrol(ann.id, "Laptop");
    const { body } = await policy({ devices: [id], resources: [await resource("Wiki", "10.1.0.1")] });
    await ann.client.must.delete(`/tenants/my/devices/${id}`);
    expect((await tenant.client.must.get(`/tenants/policies/${body.id}`)).body.devices).toEqual([]);
  });

  test("cannot do what the permission devices:write allows", async () => {
    const id = await enrol(ann.id, "Laptop");
    expect((await ann.client.delete(`/tenants/devices/${id}`)).body.code).toBe("permission_denied");
    expect((await ann.client.get("/tenants/devices")).body.code).toBe("permission_denied");
  });

  test("cannot override an access test", async () => {
    const id = await enrol(ann.id, "Laptop");
    const wiki = await resource("Wiki", "10.1.0.1");
    await policy({ users: [ann.id], resources: [wiki], rule: await rule('device.name == "Tablet"') });
    await tenant.client.must.post("/tenants/access-tests", {
      name: "Ann does not reach the wiki",
      subject: { type: "device", id },
      resource: { type: "resource", id: wiki },
      expected: "denied",
      enforced: true,
    });
    const override = { "gatehouse-override-reason": "I want to" };
    const reply = await ann.client.patch(`/tenants/my/devices/${id}`, { name: "Tablet" }, override);
    expect(reply.status).toBe(409);
    expect(reply.body.code).toBe("access_tests_broken");
  });
});

describe("devices of others", () => {
  const attempts = (id: string) =>
    [
      ["GET", `/tenants/my/devices/${id}`, undefined],
      ["PATCH", `/tenants/my/devices/${id}`, { name: "Mine" }],
      ["DELETE", `/tenants/my/devices/${id}`, undefined],
      ["GET", `/tenants/my/access?device=${id}`, undefined],
      ["POST", "/tenants/my/access/explanation", { to: "Wiki", device: id }],
    ] as const;

  test("are like missing ones: another person's, another tenant's, and one without a user", async () => {
    const other = await server.newTenant();
    const stranger = await person("ann@example.com", other);
    const bob = await person("bob@example.com");
    const [ofBob, orphan] = [await enrol(bob.id, "Laptop"), await makeId("device", tenant.client)];
    const { body } = await tenant.client.must.get(`/tenants/devices/${orphan}`);
    await tenant.client.must.delete(`/tenants/users/${body.user.id}`);
    for (const id of [ofBob, await enrol(stranger.id, "Laptop", other), orphan]) {
      for (const [method, path, sent] of attempts(id)) {
        const { status, text } = await ann.client.send(method, path, sent);
        expect(status, `${method} ${path}: ${text}`).toBe(404);
      }
    }
    expect((await bob.client.must.get("/tenants/my/devices")).body).toMatchObject([{ name: "Laptop" }]);
    expect((await ann.client.must.get("/tenants/my/devices")).body).toEqual([]);
  });

  test("an API key is refused because a person is required, even in a session that represents a key", async () => {
    const { status, body } = await tenant.client.get("/tenants/my/devices");
    expect([status, body.code]).toEqual([403, "person_required"]);
  });

  test("a deactivated person loses the session", async () => {
    await tenant.client.must.patch(`/tenants/users/${ann.id}/deactivate`);
    expect((await ann.client.get("/tenants/my")).status).toBe(401);
  });
});

describe("own access", () => {
  const why = async (to: string, device?: string) =>
    (await ann.client.must.post("/tenants/my/access/explanation", { to, ...(device === undefined ? {} : { device }) }))
      .body;

  test("lists what the person can reach, and what is allowed in other circumstances, by name", async () => {
    const [wiki, lab] = [await resource("wiki", "10.1.0.1"), await resource("Lab", "10.1.0.2")];
    const secret = await resource("Payroll", "10.1.0.3");
    const bob = await person("bob@example.com");
    await policy({ users: [ann.id], resources: [wiki] });
    await policy({ users: [ann.id], resources: [lab], rule: await rule("device.posture.diskEncrypted == true") });
    await policy({ users: [bob.id], resources: [secret] });
    const { body } = await ann.client.must.get("/tenants/my/access");
    expect(body.data).toEqual([
      { id: lab, name: "Lab", state: "blocked", addresses: ["10.1.0.2"] },
      { id: wiki, name: "wiki", state: "unavailable", addresses: ["10.1.0.1"] },
    ]);
    expect(body.total).toBe(2);
    const found = await ann.client.must.get("/tenants/my/access?search=10.1.0.1&limit=1");
    expect(found.body.data).toMatchObject([{ name: "wiki" }]);
    expect((await ann.client.must.get("/tenants/my/access?offset=1")).body.data).toMatchObject([{ name: "wiki" }]);
  });

  test("says that no gateway is there", async () => {
    await policy({ users: [ann.id], resources: [await resource("Wiki", "10.1.0.1")] });
    expect(await why("Wiki")).toMatchObject({ reachable: false, missing: [{ kind: "no_gateway" }] });
  });

  test("answers equally for a resource of others and for one that does not exist", async () => {
    const bob = await person("bob@example.com");
    const id = await resource("Payroll", "10.1.0.3");
    await policy({ users: [bob.id], resources: [id] });
    const answers = await Promise.all(
      ["Payroll", id, "10.1.0.3", "Nothing", "10.9.9.9", "nowhere.example.com"].map((to) => why(to)),
    );
    for (const answer of answers) expect(answer).toEqual({ reachable: false, missing: [{ kind: "not_granted" }] });
  });

  test("says when access begins, not when the hour ends", async () => {
    const wiki = await resource("Wiki", "10.1.0.1");
    const inTwelveHours = new Date(Date.now() + 12 * 3_600_000).getUTCHours();
    const hours = await rule(`now.getHours("UTC") == ${inTwelveHours}`, true);
    await policy({ users: [ann.id], resources: [wiki], rule: hours });
    const { validUntil, changesAt } = await why("Wiki");
    expect(new Date(changesAt).getUTCHours()).toBe(inTwelveHours);
    expect(Date.parse(changesAt)).toBeGreaterThan(Date.parse(validUntil));
  });

  test("names the device that is required", async () => {
    const [phone, laptop] = [await enrol(ann.id, "Phone"), await enrol(ann.id, "Laptop")];
    await policy({ devices: [laptop], resources: [await resource("Lab", "10.1.0.2")] });
    await policy({ allDevices: true, resources: [await resource("Wiki", "10.1.0.1")] });
    expect((await why("Lab", phone)).missing).toEqual([{ kind: "other_device", devices: ["Laptop"] }]);
    expect((await why("Lab", laptop)).missing).toEqual([{ kind: "no_gateway" }]);
    expect((await why("Wiki")).missing).toEqual([{ kind: "device_required" }]);
    await tenant.client.must.patch(`/tenants/devices/${laptop}/deactivate`);
    expect((await why("Lab", laptop)).missing).toEqual([{ kind: "device_deactivated" }]);
  });

  test("quotes conditions on device, time and place, and none on persons", async () => {
    const lab = await resource("Lab", "10.1.0.2");
    const laptop = await enrol(ann.id, "Laptop");
    const first = await policy({
      users: [ann.id],
      resources: [lab],
      rule: await rule("device.posture.diskEncrypted == true"),
    });
    expect((await why("Lab", laptop)).missing).toEqual([
      { kind: "condition", about: "device", condition: "device.posture.diskEncrypted == true", negated: false },
    ]);
    const secret = await rule('user.email in ["boss@example.com"]');
    await tenant.client.must.patch(`/tenants/policies/${first.body.id}`, { rule: secret });
    expect(JSON.stringify(await why("Lab", laptop))).not.toContain("boss");
  });

  test.each([
    "session.age < duration('8h')",
    "session.age < duration('8h') && 'hwk' in session.methods",
    "session['age'].getHours() < 8",
    "now - session.authenticatedAt < duration('8h')",
    "!('pwd' in session.methods)",
  ])("asks to sign in again on the device if %s is not met", async (text) => {
    const laptop = await enrol(ann.id, "Laptop");
    const lab = await resource("Lab", "10.1.0.2");
    await policy({ users: [ann.id], resources: [lab], rule: await rule(text, /age|now/.test(text)) });
    expect((await why("Lab", laptop)).missing).toEqual([{ kind: "sign_in_again" }]);
    expect((await why("Lab")).missing).toEqual([{ kind: "device_required" }]);
  });

  test("says that access is denied, without the policy", async () => {
    const lab = await resource("Lab", "10.1.0.2");
    await policy({ name: "Nobody from sales", users: [ann.id], resources: [lab], action: false });
    await policy({ users: [ann.id], resources: [lab] });
    const answer = await why("Lab");
    expect(answer.missing).toEqual([{ kind: "denied" }]);
    expect(JSON.stringify(answer)).not.toContain("sales");
  });

  test("says from which networks access is allowed", async () => {
    await policy({ users: [ann.id], resources: [await resource("Lab", "10.1.0.2")], sourceIps: ["192.0.2.0/24"] });
    expect((await why("Lab")).missing).toEqual([{ kind: "network", networks: ["192.0.2.0/24"] }]);
  });

  test("rejects parameters that are too long or unknown", async () => {
    expect((await ann.client.get(`/tenants/my/access?search=${"x".repeat(257)}`)).status).toBe(400);
    expect((await ann.client.get("/tenants/my/access?device=zzz")).status).toBe(404);
    expect((await ann.client.post("/tenants/my/access/explanation", { to: "" })).status).toBe(400);
  });
});
