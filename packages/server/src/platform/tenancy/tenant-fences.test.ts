import { contentOf } from "@gatehouse/agent-protocol/gateway/content-tree";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nilUuid } from "../../testing/operations/operation-case.ts";
import { make, makeId, unique } from "../../testing/operations/test-records.ts";
import { insertSignInRows } from "../../testing/sign-in-rows.queries.ts";
import { ownerOf, signInAs } from "../../testing/signed-in-person.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import {
  missingFences,
  readApplicationRole,
  readTables,
  type Table,
  tenantColumn,
} from "../../testing/tenant-fences.queries.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { createDatabase } from "../../testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";
import { applicationRole } from "../db/database.ts";
import { evaluationLimits } from "../evaluation/evaluation-budgets.ts";

let drop: () => Promise<void>;
/** A connection as the owner of the schema. */
let owner: pg.Client;
/** A connection in the role that serves requests. */
let application: pg.Client;
let tables: readonly Table[];
let ours: TestTenant;
let theirs: TestTenant;

/** Uses its own database, because some of these tests change tables, which would block all other tests. */
beforeAll(async () => {
  const database = await createDatabase();
  drop = database.drop;
  const clock = new TestClock();
  const audit = { checkpointSeconds: 86_400, retentionDays: 1 };
  // The effect of every command is late.
  const settings = { audit, evaluationLimits: { ...evaluationLimits, unitsBeforeCommit: 1 } };
  const server = await startTestServer({ connection: database.connection, clock, settings });
  ours = await server.newTenant();
  theirs = await server.newTenant();
  // Creates old entries, which a stub replaces, and new ones.
  clock.advance(2 * 24 * 60 * 60_000);
  const url = await server.listen();
  await fill(server, ours, url, () => clock.now().getTime());
  await fill(server, theirs, url, () => clock.now().getTime());
  await server.links.flush();
  for (const task of ["audit-retention", "audit-checkpoints"]) await server.tasks.get(task)?.runNow();
  await server.close();
  owner = new pg.Client(database.connection);
  application = new pg.Client(database.connection);
  await Promise.all([owner.connect(), application.connect()]);
  await application.query(`SET ROLE ${applicationRole}`);
  // A replica deletes its row when it stops.
  await owner.query("INSERT INTO gateway_link_replicas SELECT id, gen_random_uuid(), 1, now() FROM tenants");
  await owner.query(
    `INSERT INTO device_gateway_sources
       SELECT tenant_id, device.id, gateway.id, '192.0.2.7', now(), now()
       FROM devices AS device JOIN gateways AS gateway USING (tenant_id)`,
  );
  tables = await readTables(owner);
});
afterAll(async () => {
  await Promise.all([owner.end(), application.end()]);
  await drop();
});

/** Inserts at least one row into every table. */
async function fill(server: TestServer, tenant: TestTenant, url: string, now: () => number): Promise<void> {
  const { client, key } = tenant;
  const { id: ownerId } = await ownerOf(tenant);
  await signInAs(server, tenant.id, ownerId);
  await insertSignInRows(server.database, tenant.id, ownerId);
  expect((await client.post("/console/session", undefined, { apikey: key })).status).toBe(201);
  const resource = await make("resource", client);
  const gateway = await makeId("gateway", client);
  await client.must.post(`/tenants/resources/${resource.id}/loadBalancing`, {
    loadBalancingMode: "MANUAL",
    gateways: [gateway],
  });
  await client.must.post(`/tenants/gateways/${gateway}/rotate-token`);
  const device = `/tenants/devices/${await makeId("device", client)}`;
  await client.must.post(`${device}/rotate-token`);
  // Ends the session of the device.
  await client.must.put("/tenants/settings", { deviceSessionLifetime: 3_600 });
  await client.must.patch(`${device}/deactivate`);
  await client.must.post(`${device}/reactivate`);
  // Simulated gateways of version 1 get no devices whose sessions end.
  await client.must.put("/tenants/settings", { deviceSessionLifetime: null });
  await make("access-test", client);
  await makeId("domain", client);
  await makeId("enrolment-key", client);
  await client.must.post("/tenants/signing-key/rotate");
  const policy = {
    name: unique("Policy"),
    type: "PRIVATE",
    action: true,
    groups: [await makeId("group", client)],
    users: [await makeId("user", client)],
    devices: [await makeId("device", client)],
    resources: [resource.id],
    gateways: [gateway],
  };
  const made = await client.post("/tenants/policies", policy, { "idempotency-key": unique("Key") });
  expect(made.status, made.text).toBe(201);
  await connect(client, url, now);
  const tested = await client.post(`/tenants/webhooks/${await makeId("webhook", client)}/test`);
  expect(tested.status, tested.text).toBe(200);
}

/** Connects a gateway that applies its configuration and has seen a device. */
async function connect(client: TestTenant["client"], url: string, now: () => number): Promise<void> {
  await makeId("device", client);
  const { id, token } = await make("gateway", client);
  const resource = await makeId("resource", client);
  await client.must.post(`/tenants/resources/${resource}/loadBalancing`, {
    loadBalancingMode: "MANUAL",
    gateways: [id],
  });
  const everybody = { name: unique("Policy"), type: "PRIVATE", action: true, allUsers: true, resources: [resource] };
  expect((await client.post("/tenants/policies", everybody)).status).toBe(201);
  const gateway = new SimulatedGateway({ url, gatewayId: id, token, now });
  await gateway.connect();
  const peersOf = () => (gateway.content === undefined ? [] : Object.keys(contentOf(gateway.content).peers));
  await until("it has peers", () => peersOf().length > 0);
  const peers = peersOf().map((peer) => ({ peer, lastHandshake: now() - 1, receivedBytes: 0, sentBytes: 0 }));
  gateway.heartbeat({ peers });
  await until("it is answered", () => gateway.answers.length === 1);
}

const fenced = () =>
  tables.flatMap((table) => {
    const column = tenantColumn(table);
    return column === undefined ? [] : [{ ...table, column }];
  });

describe("every table that holds rows of tenants", () => {
  test("has all its fences", () => {
    expect(tables.flatMap(missingFences)).toEqual([]);
    expect(fenced().length).toBeGreaterThan(20);
  });

  test("is empty for the application until it sets its tenant", async () => {
    for (const { name } of fenced()) {
      expect((await application.query(`SELECT FROM ${name}`)).rowCount, name).toBe(0);
    }
    // A transaction that set its tenant leaves no setting behind.
    await application.query(`BEGIN; SET LOCAL app.tenant_id = '${ours.id}'; COMMIT`);
    for (const { name } of fenced()) {
      expect((await application.query(`SELECT FROM ${name}`)).rowCount, name).toBe(0);
    }
  });

  test("accepts no row from the application until it sets its tenant", async () => {
    for (const { name, column } of fenced()) {
      for (const tenantId of [ours.id, nilUuid]) {
        const insert = application.query(`INSERT INTO ${name} (${column}) VALUES ($1)`, [tenantId]);
        await expect(insert, name).rejects.toMatchObject({ code: "42501" });
      }
    }
  });

  test("shows a tenant only its own rows", async () => {
    await inTenant(ours.id, async () => {
      for (const { name, column } of fenced()) {
        const { rows } = await application.query(`SELECT DISTINCT ${column} AS tenant FROM ${name}`);
        expect(rows, name).toEqual([{ tenant: ours.id }]);
      }
    });
  });

  test("lets a tenant write and delete only its own rows", async () => {
    for (const { name, column } of fenced()) {
      await inTenant(ours.id, async () => {
        const insert = application.query(`INSERT INTO ${name} (${column}) VALUES ($1)`, [theirs.id]);
        await expect(insert, name).rejects.toMatchObject({ code: "42501" });
      });
      await inTenant(ours.id, async () => {
        const give = application.query(`UPDATE ${name} SET ${column} = $1`, [theirs.id]);
        await expect(give, name).rejects.toMatchObject({ code: "42501" });
      });
      await inTenant(ours.id, async () => {
        const deletion = application.query(`DELETE FROM ${name} WHERE ${column} = $1`, [theirs.id]);
        // Either the privilege to delete is missing, or no row that could be deleted is visible.
        const deleted = await deletion.then(
          ({ rowCount }) => rowCount,
          ({ code }) => code,
        );
        expect([0, "42501"], name).toContain(deleted);
      });
    }
  });
});

describe("the role that serves requests", () => {
  test("has no special privileges, owns nothing and belongs to no other role", async () => {
    expect(await readApplicationRole(owner)).toEqual({ powers: [], memberOf: [], owned: 0, mayCreate: false });
  });
});

describe("a table with a gap in its fences is reported", () => {
  const fence = `ALTER TABLE gap ENABLE ROW LEVEL SECURITY; ALTER TABLE gap FORCE ROW LEVEL SECURITY;
    CREATE POLICY tenant_fence ON gap USING (tenant_id = current_tenant());`;
  const table = "CREATE TABLE gap (tenant_id uuid, id uuid, user_id uuid, PRIMARY KEY (tenant_id, id));";

  test.each([
    ["none at all", table, ["row-level security is off", "row-level security is not forced upon the owner"]],
    ["not forced", `${table} ${fence} ALTER TABLE gap NO FORCE ROW LEVEL SECURITY`, ["not forced upon the owner"]],
    ["no policy", `${table} ${fence} DROP POLICY tenant_fence ON gap`, ["no policy compares with current_tenant()"]],
    [
      "a policy that lets everything through",
      `${table} ${fence} CREATE POLICY anyone ON gap FOR SELECT USING (true)`,
      ["anyone opens the fence"],
    ],
    [
      "a policy that checks something else",
      `${table} ${fence} ALTER POLICY tenant_fence ON gap WITH CHECK (true)`,
      ["no policy compares with current_tenant()", "tenant_fence opens the fence"],
    ],
    [
      "keys without the tenant",
      `CREATE TABLE gap (tenant_id uuid, id uuid PRIMARY KEY, name text CONSTRAINT gap_name_unique UNIQUE); ${fence}`,
      ["the primary key leaves the tenant out", "gap_name_unique leaves the tenant out"],
    ],
    [
      "a foreign key without the tenant",
      `CREATE UNIQUE INDEX users_by_id ON users (id); ${table} ${fence}
       ALTER TABLE gap ADD CONSTRAINT gap_user FOREIGN KEY (user_id) REFERENCES users (id);
       CREATE INDEX ON gap (user_id)`,
      ["gap_user leaves the tenant out", "users_by_id leaves the tenant out"],
    ],
    [
      "a foreign key without an index",
      `${table} ${fence} ALTER TABLE gap ADD CONSTRAINT gap_user FOREIGN KEY (tenant_id, user_id) REFERENCES users`,
      ["no index covers gap_user"],
    ],
    [
      "rights beyond those to rows",
      `${table} ${fence} GRANT TRUNCATE ON gap TO ${applicationRole}`,
      [`${applicationRole} may TRUNCATE`],
    ],
    [
      "an owner that it is to be fenced from",
      `${table} ${fence} ALTER TABLE gap OWNER TO ${applicationRole}`,
      [`${applicationRole} owns it`],
    ],
  ])("%s", async (_what, statements, reports) => {
    await owner.query("BEGIN");
    try {
      await owner.query(statements);
      const found = (await readTables(owner)).flatMap(missingFences);
      for (const report of reports) expect(found).toContainEqual(expect.stringContaining(report));
    } finally {
      await owner.query("ROLLBACK");
    }
    expect((await readTables(owner)).flatMap(missingFences)).toEqual([]);
  });
});

/** Runs as the application inside a tenant, and rolls back. */
async function inTenant(tenantId: string, work: () => Promise<void>): Promise<void> {
  await application.query(`BEGIN; SET LOCAL app.tenant_id = '${tenantId}'`);
  try {
    await work();
  } finally {
    await application.query("ROLLBACK");
  }
}
