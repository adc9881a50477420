/** Drills for the rotation of keys, against real servers on their own database. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkSecrets } from "./doctor/secret-checks.ts";
import { auditKeyRows, handoversOf } from "./platform/audit/audit-keys.queries.ts";
import { AuditKeys } from "./platform/audit/audit-keys.ts";
import { SignatureCheck } from "./platform/audit/signatures.ts";
import { verifyTenant } from "./platform/audit/verify-database.ts";
import { Database } from "./platform/db/database.ts";
import { statement } from "./platform/db/statement.ts";
import { otherSessions } from "./platform/secrets/encrypting-sessions.queries.ts";
import { createSecretBox, type MasterKeys } from "./platform/secrets/master-key.ts";
import { countSecrets, isResealed, requestReseal } from "./platform/secrets/reseal.ts";
import { resealSecrets } from "./platform/secrets/reseal-pass.ts";
import { requestRotationIn, rotateAuditKeyIn, rotationStateIn } from "./rotate-keys.ts";
import { HeldTransaction } from "./testing/held-transaction.ts";
import { createDatabase, type TestDatabase } from "./testing/test-database.ts";
import { startTestServer, type TestServer, testMasterKey } from "./testing/test-server.ts";
import { until } from "./testing/until.ts";

const newKey = Buffer.alloc(32, 9);
const both: MasterKeys = { current: newKey, second: testMasterKey };
let own: TestDatabase;
let database: Database;
let operatorKey: string;

beforeAll(async () => {
  own = await createDatabase();
  database = new Database({ connection: own.connection, poolSize: 2 });
});
afterAll(async () => {
  await database.close();
  await own.drop();
});

type Keys = NonNullable<Parameters<typeof startTestServer>[0]>["settings"];

async function run<T>(settings: Keys, work: (server: TestServer) => Promise<T>): Promise<T> {
  const server = await startTestServer({
    connection: own.connection,
    ...(operatorKey === undefined ? {} : { operatorKey }),
    settings: { ...settings },
  });
  operatorKey = server.operatorKey;
  try {
    return await work(server);
  } finally {
    await server.close();
  }
}

/** PostgreSQL ends sessions soon after their connections. */
function previousWritersEnded(observer: Database, currentKey = newKey): Promise<unknown> {
  const others = () => observer.transaction({ kind: "operator" }, (tx) => otherSessions(tx, currentKey));
  return until("no server encrypts with another key", async () => (await others()).length === 0);
}

/** Aborts the work at one of its later steps, as at shutdown. */
function killedAfter(steps: number): AbortSignal {
  const controller = new AbortController();
  let left = steps;
  const signal = controller.signal;
  const throwIfAborted = () => {
    left -= 1;
    if (left < 0) throw new Error("killed");
  };
  return Object.assign(Object.create(signal), { throwIfAborted });
}

test("the master key is rotated with two keys, and the re-encryption continues after it was killed", async () => {
  const idempotent = { "idempotency-key": "rotation-drill" };
  const made = await run({}, async (server) => {
    const tenants = [];
    for (let count = 0; count < 3; count += 1) {
      const tenant = await server.newTenant();
      const gateway = await tenant.client.post(
        "/tenants/gateways",
        { name: "Berlin", wireguardPort: "51820" },
        idempotent,
      );
      expect(gateway.status).toBe(201);
      await tenant.client.post("/tenants/webhooks", { name: "Hook", url: "https://example.com/hook" });
      await tenant.client.post("/tenants/signing-key/rotate");
      tenants.push({ key: tenant.key, id: gateway.body.id, body: gateway.body });
    }
    return tenants;
  });
  const check = async (server: TestServer) => {
    for (const { key, id, body } of made) {
      const client = server.client(key);
      expect((await client.get(`/tenants/gateways/${id}`)).body.token).toBe(body.token);
      const again = await client.post("/tenants/gateways", { name: "Berlin", wireguardPort: "51820" }, idempotent);
      expect(again.body).toEqual(body);
      expect((await client.post("/tenants/signing-key/rotate")).status).toBe(200);
    }
  };
  // First, every server learns the new key. The old one still encrypts.
  await run({ secondMasterKey: newKey }, check);
  expect(await isResealed(database, both)).toBe(false);

  await expect(resealSecrets({ database, masterKeys: both, signal: killedAfter(6) })).rejects.toThrow("killed");
  expect(await isResealed(database, both)).toBe(false);
  await run({ masterKey: newKey, secondMasterKey: testMasterKey }, check);
  await run({ secondMasterKey: newKey }, check);
  await expect(run({ masterKey: newKey }, check)).rejects.toThrow("master key");

  await previousWritersEnded(database);
  expect(await requestRotationIn(database, both)).toEqual({ state: "requested" });
  await run({ masterKey: newKey, secondMasterKey: testMasterKey }, async (server) => {
    await server.tasks.get("master-key-rotation")?.runNow();
    expect(await isResealed(database, both)).toBe(true);
  });
  expect(await resealSecrets({ database, masterKeys: both })).toEqual({ resealed: 0, unreadable: 0 });
  // Repeating the request must not prevent a start without the second key.
  expect(await requestRotationIn(database, both)).toEqual({ state: "complete" });
  await run({ masterKey: newKey }, check);
  await expect(run({}, check)).rejects.toThrow("a key that was replaced");
});

test("a rotation is refused while a server encrypts with the previous key, and no server can do so later", async () => {
  const apart = await createDatabase();
  const outside = new Database({ connection: apart.connection, poolSize: 1 });
  const start = (settings: Keys, mayFail = false) =>
    startTestServer({ connection: apart.connection, operatorKey, settings: { ...settings }, mayFail });
  const exchanged = { masterKey: newKey, secondMasterKey: testMasterKey };
  const early = await start({ secondMasterKey: newKey });
  const ready = await start(exchanged);
  await expect(requestReseal(outside, both)).rejects.toThrow("Servers still encrypt with another master key: ");
  expect(await rotationStateIn(outside, both)).toMatchObject({
    state: "not-requested",
    otherServers: expect.any(String),
  });
  // The refused request began nothing. What the server writes now needs the previous key.
  const tenant = await early.newTenant();
  await ready.tasks.get("master-key-rotation")?.runNow();
  expect((await rotationStateIn(outside, both)).secrets?.current).toBe(0);
  await early.close();
  await previousWritersEnded(outside);

  // With the keys of a server whose values were not exchanged yet, and with a mistyped key.
  await ready.close();
  await previousWritersEnded(outside, testMasterKey);
  const notExchanged = { current: testMasterKey, second: newKey };
  await expect(requestReseal(outside, notExchanged)).rejects.toThrow(
    "The second master key is not the one that encrypts",
  );
  await expect(requestReseal(outside, { ...both, second: Buffer.alloc(32, 3) })).rejects.toThrow(
    "The second master key",
  );
  const restarted = await start(exchanged);

  await requestReseal(outside, both);
  await expect(start({ secondMasterKey: newKey })).rejects.toThrow("GATEHOUSE_MASTER_KEY is a key that was replaced");
  expect((await rotationStateIn(outside, both)).state).toBe("in-progress");
  await restarted.tasks.get("master-key-rotation")?.runNow();
  expect(await rotationStateIn(outside, both)).toMatchObject({
    state: "complete",
    secrets: { second: 0, unreadable: 0 },
  });

  // A secret that an unfenced writer left behind, such as a server of an earlier version.
  const gateway = await restarted
    .client(tenant.key)
    .post("/tenants/gateways", { name: "Late", wireguardPort: "51820" });
  const context = `gateway:${tenant.id}:${gateway.body.id}`;
  const left = createSecretBox(testMasterKey, "gateway-token").seal(gateway.body.token, context);
  const leaveBehind = statement<never, [id: string, ciphertext: Buffer]>(
    "test.leave_behind",
    "UPDATE gateways SET token_ciphertext = $2 WHERE id = $1",
  );
  await outside.transaction({ kind: "tenant", tenantId: tenant.id }, (tx) =>
    tx.query(leaveBehind, gateway.body.id, left),
  );
  expect(await rotationStateIn(outside, both)).toMatchObject({ state: "in-progress", secrets: { second: 1 } });
  await restarted.close();
  const withoutPrevious = await start({ masterKey: newKey }, true);
  const read = () => withoutPrevious.client(tenant.key).get(`/tenants/gateways/${gateway.body.id}`);
  const unreadable = await read();
  expect(unreadable).toMatchObject({ status: 503, body: { code: "secret_unreadable" } });
  expect(JSON.stringify(unreadable.body)).not.toContain(context);
  expect(await rotationStateIn(outside, { current: newKey })).toMatchObject({
    state: "unreadable",
    secrets: { unreadable: 1, unreadableTables: { gateways: 1 } },
  });

  expect(await checkSecrets(apart.connection, { current: newKey })).toMatchObject({
    status: "problem",
    message: "Stored secrets need a master key that is not configured: 1 (gateways: 1).",
  });
  expect(await checkSecrets(apart.connection, both)).toMatchObject({ status: "warning" });

  // Another request begins another complete pass, although the last one was complete.
  const repairing = await start(exchanged);
  await requestReseal(outside, both);
  await repairing.tasks.get("master-key-rotation")?.runNow();
  expect((await rotationStateIn(outside, both)).state).toBe("complete");
  expect((await read()).body.token).toBe(gateway.body.token);
  await repairing.close();
  await withoutPrevious.close();
  await outside.close();
  await apart.drop();
});

test("locked secrets of one tenant do not block the re-encryption of others", async () => {
  const apart = await createDatabase();
  const server = await startTestServer({ connection: apart.connection });
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) {
    const { id, client } = await server.newTenant();
    await client.must.post("/tenants/webhooks", { name: "Hook", url: "https://example.com/hook" });
    ids.push(id);
  }
  await server.close();
  const outside = new Database({ connection: apart.connection, poolSize: 1 });
  const [busy] = ids.toSorted();
  const lock = "SELECT FROM webhook_secrets WHERE tenant_id = $1 FOR UPDATE";
  const held = await HeldTransaction.begin(apart.connection, lock, busy);
  const reseal = () => resealSecrets({ database: outside, masterKeys: both });
  await expect(reseal()).rejects.toMatchObject({ code: "55P03" });
  expect(await countSecrets({ database: outside, masterKeys: both })).toMatchObject({ second: 1 });
  expect(await isResealed(outside, both)).toBe(false);
  await held.end();
  expect(await reseal()).toEqual({ resealed: 1, unreadable: 0 });
  expect(await isResealed(outside, both)).toBe(true);
  await outside.close();
  await apart.drop();
});

test("a pass that began before a request does not complete it", async () => {
  const apart = await createDatabase();
  const outside = new Database({ connection: apart.connection, poolSize: 2 });
  await (await startTestServer({ connection: apart.connection })).close();
  const server = await startTestServer({
    connection: apart.connection,
    settings: { masterKey: newKey, secondMasterKey: testMasterKey },
  });
  await previousWritersEnded(outside);
  await requestReseal(outside, both);
  let asked: Promise<void> | undefined;
  const signal = Object.assign(Object.create(new AbortController().signal), {
    throwIfAborted: () => {
      asked ??= requestReseal(outside, both);
    },
  });
  await resealSecrets({ database: outside, masterKeys: both, signal });
  await asked;
  expect(await isResealed(outside, both)).toBe(false);
  await server.close();
  await outside.close();
  await apart.drop();
});

test("servers with a second key re-encrypt nothing until they are asked to", async () => {
  await run({ masterKey: newKey, secondMasterKey: Buffer.alloc(32, 3) }, async (server) => {
    await server.tasks.get("master-key-rotation")?.runNow();
  });
  expect(await isResealed(database, { current: newKey })).toBe(true);
  expect(await isResealed(database, { current: Buffer.alloc(32, 3) })).toBe(false);
});

test("the audit key is rotated: either public key verifies the whole record", async () => {
  await run({ masterKey: newKey }, async (server) => {
    const tenant = await server.newTenant();
    const sign = () => server.tasks.get("audit-checkpoints")?.runNow();
    await sign();
    const { publicKey: first } = server.runner.audit.keys.signer;
    const rotated = await rotateAuditKeyIn(database, { current: newKey });
    expect(rotated.from).toBe(first);
    await tenant.client.post("/tenants/groups", { name: "Later" });
    await sign();
    expect((await tenant.client.get("/tenants/events/signing-key")).body.publicKey).toBe(rotated.to);
    const rows = await database.transaction({ kind: "operator" }, auditKeyRows);
    for (const key of [rotated.from, rotated.to]) {
      const signatures = SignatureCheck.of(key, handoversOf(rows));
      const report = await verifyTenant(database, { tenantId: tenant.id, signatures, expectSigned: 6 });
      expect(report).toMatchObject({ findings: [], signedThrough: 6 });
    }
    const withoutHandovers = SignatureCheck.of(rotated.to);
    const report = await verifyTenant(database, { tenantId: tenant.id, signatures: withoutHandovers });
    expect(report?.findings).toMatchObject([{ problem: "checkpoint", position: 5 }]);
  });
  const keys = new AuditKeys(database, { current: newKey });
  await keys.refresh(new Date());
  expect(keys.handovers).toHaveLength(1);
});

test("a replaced audit key no longer counts for later statements", async () => {
  const rows = await database.transaction({ kind: "operator" }, auditKeyRows);
  const handovers = handoversOf(rows);
  const [handover] = handovers;
  const from = handover?.from ?? "";
  const forged = {
    from,
    to: handover?.to ?? "",
    createdAt: "2000-01-01T00:00:00.000Z",
    signatures: { from: "", to: "" },
  };
  expect(SignatureCheck.of(from, [forged])?.has(forged.to)).toBe(false);
  expect(SignatureCheck.of(from, handovers)?.has(forged.to)).toBe(true);
});
