import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAccessNetwork, created } from "../../../testing/access-network.ts";
import { publicKey } from "../../../testing/operations/test-records.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../../testing/test-server.ts";

let server: TestServer;
/** A second replica over the same database. */
let replica: TestServer;
let tenant: TestTenant;
let world: Awaited<ReturnType<typeof createAccessNetwork>>;

beforeAll(async () => {
  [server, replica] = await Promise.all([startTestServer(), startTestServer()]);
  tenant = await server.newTenant();
  world = await createAccessNetwork(server, tenant);
});
afterAll(() => Promise.all([server.close(), replica.close()]));

const action = { name: "connect" };

const time = "2026-03-04T10:00:00Z";

/** A question whether Ann can reach Git from her device. */
function question(changes: object = {}) {
  return {
    subject: { type: "user", id: world.ann.email },
    action,
    resource: { type: "resource", id: "Git" },
    context: { deviceId: world.ann.device, time },
    ...changes,
  };
}

const evaluate = (body: object, client = tenant.client) => client.post("/access/v1/evaluation", body);

describe("a single evaluation", () => {
  test("returns the reason, the policy, the gateways and the expiry", async () => {
    const { body } = await evaluate(question());
    expect(body).toEqual({
      decision: true,
      context: {
        reason: "allowed_by_policy",
        reasons: ["allowed_by_policy"],
        policy: world.allowing,
        resource: world.git,
        gateways: world.gateways,
        // The decision expires at the next boundary of the rule's time at the latest.
        validUntil: "2029-12-31T23:59:59.999Z",
      },
    });
  });

  test.each([
    ["the user by id", () => ({ subject: { type: "user", id: world.ann.id.toUpperCase() } })],
    [
      "the user by an email address in capitals",
      () => ({ subject: { type: "user", id: world.ann.email.toUpperCase() } }),
    ],
    ["the device, for its owner", () => ({ subject: { type: "device", id: world.ann.device }, context: { time } })],
    ["the resource by id", () => ({ resource: { type: "resource", id: world.git.id } })],
    ["an address", () => ({ resource: { type: "address", id: "GIT.example.com" } })],
    [
      "an address with protocol and port",
      () => ({ resource: { type: "address", id: "git.example.com", properties: { protocol: "TCP", port: 22 } } }),
    ],
    [
      "a port as text",
      () => ({ resource: { type: "address", id: "git.example.com", properties: { protocol: "TCP", port: "22" } } }),
    ],
    ["a time without seconds", () => ({ context: { deviceId: world.ann.device, time: "2026-03-04T01:22-07:00" } })],
    ["fields that nobody knows", () => ({ surprise: 1, action: { name: "connect", properties: { method: "GET" } } })],
  ])("takes %s", async (_what, changes) => {
    const { status, body, text } = await evaluate(question(changes()));
    expect({ status, decision: body.decision }, text).toEqual({ status: 200, decision: true });
  });

  test.each([
    ["unknown_action", () => ({ action: { name: "delete" } })],
    ["unknown_subject_type", () => ({ subject: { type: "group", id: world.engineers.id } })],
    ["unknown_resource_type", () => ({ resource: { type: "account", id: "123" } })],
    ["unknown_user", () => ({ subject: { type: "user", id: "nobody@example.com" } })],
    ["unknown_device", () => ({ subject: { type: "device", id: "none" } })],
    ["unknown_device", () => ({ context: { deviceId: "none" } })],
    ["device_of_another_user", () => ({ context: { deviceId: world.bob.device } })],
    ["unknown_resource", () => ({ resource: { type: "resource", id: "Nowhere" } })],
    ["invalid_address", () => ({ resource: { type: "address", id: "192.0.2.0/24" } })],
    [
      "protocol_not_offered",
      () => ({ resource: { type: "address", id: "git.example.com", properties: { protocol: "TCP", port: 80 } } }),
    ],
    ["no_policy_allows", () => ({ resource: { type: "resource", id: "Wiki" } })],
    ["no_policy_allows", () => ({ context: { time } })],
    ["no_policy_allows", () => ({ context: { deviceId: world.ann.device, time: "2030-01-01T00:00:00Z" } })],
    ["denied_by_policy", () => ({ subject: { type: "user", id: world.bob.id }, context: {} })],
  ])("denies with %s", async (reason, changes) => {
    const { status, body } = await evaluate(question(changes()));
    expect({ status, decision: body.decision, reason: body.context.reason }).toEqual({
      status: 200,
      decision: false,
      reason,
    });
  });

  test("names the policy that denied", async () => {
    const { body } = await evaluate(question({ subject: { type: "user", id: world.bob.id }, context: {} }));
    expect(body.context).toMatchObject({ policy: world.denying, gateways: [] });
  });

  test("returns the handling of internet traffic", async () => {
    const { body } = await evaluate(question({ resource: { type: "address", id: "www.example.net" } }));
    expect(body).toMatchObject({ decision: true, context: { mode: "LOCAL", gateways: [] } });
  });

  test.each([
    [
      "a device's posture, of a user",
      () => ({ subject: { type: "user", id: world.ann.id, properties: { posture: { diskEncrypted: false } } } }),
    ],
    [
      "posture, of a device",
      () => ({ subject: { type: "device", id: world.ann.device, properties: { diskEncrypted: false } } }),
    ],
    [
      "what rules cannot read, as absent",
      () => ({ subject: { type: "device", id: world.ann.device, properties: { diskEncrypted: [true] } } }),
    ],
  ])("lets properties stand in for %s", async (_what, changes) => {
    expect((await evaluate(question(changes()))).body.context.reason).toBe("no_policy_allows");
  });

  test("replaces stored attributes by the properties of the user with the same names only", async () => {
    const own = await server.newTenant();
    const user = await created(own.client, "/tenants/users", { email: "ann@example.com" });
    await created(own.client, "/tenants/devices", {
      name: "Laptop",
      userId: user.id,
      hardwareId: "S",
      publicKey: publicKey(),
    });
    await own.client.must.patch(`/tenants/users/${user.id}`, { attributes: { department: "Sales", country: "DE" } });
    const rule = {
      name: "Rule",
      rule: "user.department == 'Engineering' && user.country == 'DE'",
      hasTimeConstraint: false,
    };
    const { id } = await created(own.client, "/tenants/admission-rules", rule);
    await created(own.client, "/tenants/resources", { name: "Git", type: "PRIVATE", addresses: [] });
    const policy = { name: "P", type: "PRIVATE", action: true, allUsers: true, allResources: true, rule: id };
    await created(own.client, "/tenants/policies", policy);
    const ask = async (properties: object) => {
      const subject = { type: "user", id: "ann@example.com", properties };
      return (await evaluate({ subject, action, resource: { type: "resource", id: "Git" } }, own.client)).body.decision;
    };
    expect(await ask({})).toBe(false);
    expect(await ask({ department: "Engineering" })).toBe(true);
    expect(await ask({ department: "Engineering", country: null })).toBe(false);
    // An attribute cannot impersonate the built-in property of the account.
    expect(await ask({ department: "Engineering", status: "inactive" })).toBe(true);
  });

  test("explains a denial with names, the values that rules read, and the nearest miss", async () => {
    const subject = { type: "device", id: world.ann.device, properties: { diskEncrypted: false } };
    const { body } = await evaluate(question({ subject, context: { time, explain: true } }));
    expect(body.context.explanation).toEqual({
      policies: [
        {
          policy: world.denying,
          action: false,
          outcome: "source_not_met",
          sourceMatches: [],
          sourceAddressMet: true,
        },
        {
          policy: world.allowing,
          action: true,
          outcome: "rule_not_met",
          sourceMatches: [{ kind: "group", ...world.engineers }],
          sourceAddressMet: true,
          rule: {
            id: expect.any(String),
            name: "Encrypted disk",
            conditions: [
              { depth: 0, operator: "all", met: false, text: expect.any(String), values: [] },
              {
                depth: 1,
                met: false,
                text: "device.posture.diskEncrypted == true",
                values: [{ name: "device.posture.diskEncrypted", value: "false" }],
              },
              {
                depth: 1,
                met: true,
                text: expect.any(String),
                values: [{ name: "now", value: '"2026-03-04T10:00:00.000Z"' }],
              },
            ],
          },
        },
      ],
      otherPolicies: 0,
      nearestMiss: {
        policy: world.allowing,
        missing: [
          {
            kind: "condition",
            negated: false,
            condition: expect.objectContaining({ text: "device.posture.diskEncrypted == true" }),
          },
        ],
      },
    });
  });
});

describe("a batch", () => {
  const batch = (body: object) => tenant.client.post("/access/v1/evaluations", body);
  const resources = (...names: string[]) => names.map((id) => ({ resource: { type: "resource", id } }));

  test("has defaults, and answers in order", async () => {
    const evaluations = [
      {},
      ...resources("Wiki"),
      { action: { name: "delete" } },
      { subject: { type: "user", id: world.bob.id }, context: {} },
    ];
    const { body } = await batch({ ...question(), evaluations });
    expect(body.decision).toBeUndefined();
    const reasons = body.evaluations.map(({ context }: { context: { reason: string } }) => context.reason);
    expect(reasons).toEqual(["allowed_by_policy", "no_policy_allows", "unknown_action", "denied_by_policy"]);
  });

  test.each([
    ["execute_all", [true, false, true]],
    ["deny_on_first_deny", [true, false]],
    ["permit_on_first_permit", [true]],
  ])("is evaluated by %s", async (semantic, decisions) => {
    const options = { evaluations_semantic: semantic, another_option: "value" };
    const { body } = await batch({ ...question(), evaluations: resources("Git", "Wiki", "Git"), options });
    expect(body.evaluations.map(({ decision }: { decision: boolean }) => decision)).toEqual(decisions);
  });

  test.each([[{}], [{ evaluations: [] }]])("of none is a single evaluation: %j", async (more) => {
    expect((await batch({ ...question(), ...more })).body).toMatchObject({ decision: true });
  });

  test("of 1,000 is accepted, of 1,001 not", async () => {
    const many = (count: number) => batch({ ...question(), evaluations: Array(count).fill({}) });
    expect((await many(1_000)).body.evaluations).toHaveLength(1_000);
    expect((await many(1_001)).status).toBe(400);
  });

  test("is explained ten times at most", async () => {
    const context = { deviceId: world.ann.device, time, explain: true };
    const many = (count: number) => batch({ ...question({ context }), evaluations: Array(count).fill({}) });
    expect((await many(10)).body.evaluations.at(-1).context.explanation).toBeDefined();
    expect((await many(11)).body).toMatchObject({ status: 400, errors: [{ pointer: "/context/explain" }] });
  });

  test("denies an evaluation with thousands of properties by itself", async () => {
    const properties = Object.fromEntries(Array.from({ length: 6_000 }, (_, index) => [`name ${index}`, "value"]));
    const many = { ...question(), subject: { ...question().subject, properties } };
    const { body } = await batch({ ...question(), evaluations: [many, {}] });
    expect(body.evaluations).toMatchObject([
      { decision: false, context: { reason: "invalid_evaluation" } },
      { decision: true },
    ]);
  });

  test("does not count explanations of invalid evaluations", async () => {
    const context = { deviceId: world.ann.device, time, explain: true };
    const invalid = [null, 7, "evaluation", { subject: 7, context: { explain: true } }];
    const { body } = await batch({ ...question({ context }), evaluations: [...Array(10).fill({}), ...invalid] });
    const reasons = body.evaluations.map(({ context: { reason } }: { context: { reason: string } }) => reason);
    expect(reasons.slice(10)).toEqual(invalid.map(() => "invalid_evaluation"));
    expect(body.evaluations[9].context.explanation).toBeDefined();
  });

  test.each(["subject", "action", "resource"])("denies an evaluation without %s by itself", async (name) => {
    const { [name]: _left, ...rest } = question() as Record<string, unknown>;
    const { body } = await batch({ ...rest, evaluations: [question(), {}] });
    expect(body.evaluations.map(({ decision }: { decision: boolean }) => decision)).toEqual([true, false]);
    const context = { reason: "invalid_evaluation", error: `/${name}: is required.` };
    expect(body.evaluations[1].context).toMatchObject(context);
  });
});

describe("malformed requests are refused with the problem:", () => {
  test.each([
    ["no subject", { subject: undefined }, "/subject"],
    ["a subject without id", { subject: { type: "user" } }, "/subject/id"],
    ["an action without name", { action: {} }, "/action/name"],
    ["an id that is a number", { resource: { type: "resource", id: 7 } }, "/resource/id"],
    ["a time without zone", { context: { time: "2026-03-04T10:00:00" } }, "/context/time"],
    ["a date alone", { context: { time: "2026-03-04" } }, "/context/time"],
    ["no source address", { context: { sourceIp: "somewhere" } }, "/context/sourceIp"],
    ["no country", { context: { country: "Germany" } }, "/context/country"],
    [
      "no protocol",
      { resource: { type: "address", id: "git.example.com", properties: { protocol: "http" } } },
      "/resource/properties/protocol",
    ],
    [
      "a port of nothing",
      { resource: { type: "address", id: "git.example.com", properties: { port: 22 } } },
      "/resource/properties/port",
    ],
    [
      "a port too far",
      { resource: { type: "address", id: "git.example.com", properties: { protocol: "UDP", port: 65_536 } } },
      "/resource/properties/port",
    ],
    [
      "a property too long",
      { subject: { type: "user", id: "x", properties: { department: "x".repeat(257) } } },
      "/subject/properties/department",
    ],
    [
      "posture of a text",
      { subject: { type: "user", id: "x", properties: { posture: "x" } } },
      "/subject/properties/posture",
    ],
  ])("%s", async (_what, changes, pointer) => {
    const { status, body } = await evaluate(question(changes));
    expect({ status, code: body.code }).toEqual({ status: 400, code: "invalid_body" });
    expect(body.errors).toMatchObject([{ pointer }]);
  });
});

test("another tenant's users, devices and resources are unknown", async () => {
  const other = await server.newTenant();
  const ask = async (changes: object) => (await evaluate(question(changes), other.client)).body.context.reason;
  expect(await ask({})).toBe("unknown_user");
  expect(await ask({ subject: { type: "device", id: world.ann.device } })).toBe("unknown_device");
  const owner = { subject: { type: "user", id: "owner@example.com" }, context: {} };
  expect(await ask({ ...owner, resource: { type: "resource", id: world.git.id } })).toBe("unknown_resource");
  expect(await ask({ ...owner, resource: { type: "resource", id: "Git" } })).toBe("unknown_resource");
});

test("a change counts for the very next decision, on every replica", async () => {
  const own = await server.newTenant();
  await created(own.client, "/tenants/resources", { name: "Git", type: "PRIVATE", addresses: [] });
  const body = {
    subject: { type: "user", id: "owner@example.com" },
    action,
    resource: { type: "resource", id: "Git" },
  };
  const policy = { name: "All", type: "PRIVATE", action: true, allUsers: true, allResources: true };
  const { id } = await created(own.client, "/tenants/policies", policy);
  const clients = [own.client, replica.client(own.key)];
  const decisions = async () =>
    (await Promise.all(clients.map((client) => evaluate(body, client)))).map((reply) => reply.body.decision);
  expect(await decisions()).toEqual([true, true]);
  for (let round = 0; round < 5; round += 1) {
    await own.client.must.patch(`/tenants/policies/${id}/deactivate`);
    expect(await decisions()).toEqual([false, false]);
    await own.client.must.post(`/tenants/policies/${id}/reactivate`);
    expect(await decisions()).toEqual([true, true]);
  }
});

test("the metadata lists the endpoints without authentication", async () => {
  const reply = await server
    .client(undefined)
    .get("/.well-known/authzen-configuration", { host: "pdp.example.com:8443" });
  expect(reply.headers["content-type"]).toMatch("application/json");
  expect(reply.body).toEqual({
    policy_decision_point: "http://pdp.example.com:8443",
    access_evaluation_endpoint: "http://pdp.example.com:8443/access/v1/evaluation",
    access_evaluations_endpoint: "http://pdp.example.com:8443/access/v1/evaluations",
    search_subject_endpoint: "http://pdp.example.com:8443/access/v1/search/subject",
    search_resource_endpoint: "http://pdp.example.com:8443/access/v1/search/resource",
    search_action_endpoint: "http://pdp.example.com:8443/access/v1/search/action",
  });
  const strange = await server.client(undefined).get("/.well-known/authzen-configuration", { host: 'a"b/c' });
  expect(strange.status).toBe(400);
});
