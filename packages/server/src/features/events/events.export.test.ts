import type { AddressInfo } from "node:net";
import fc from "fast-check";
import pg from "pg";
import { beforeAll, expect, inject, test, vi } from "vitest";
import { AuditSigner } from "../../platform/audit/signatures.ts";
import { NotAnExportError, verifyExport } from "../../platform/audit/verify-export.ts";
import { RawConnection, request } from "../../testing/faults/raw-connection.ts";
import { sharedTestServer, type TestServer, type TestTenant, testMasterKey } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

const { publicKey } = new AuditSigner(testMasterKey);
let server: TestServer;
let tenant: TestTenant;
/** An export of 10 entries, with a checkpoint after the ninth. */
let text: string;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  for (const name of ["One", "=cmd()"]) await tenant.client.must.post("/tenants/groups", { name });
  const people = ["ann@example.com", "ben@example.com"].map((email) => ({ email }));
  await tenant.client.must.post("/tenants/users", people);
  // The task signs the tenants of all files that run at the same time. A failure elsewhere ends its run.
  await until("the record is signed", async () => {
    await server.tasks.get("audit-checkpoints")?.runNow();
    return (await exported("")).includes('"checkpoint"');
  });
  await tenant.client.must.post("/tenants/groups", { name: 'Three "3", \u00e4' });
  text = await exported("");
});

async function exported(query: string): Promise<string> {
  return (await tenant.client.get(`/tenants/events/export${query}`)).text;
}

async function* inPieces(content: string | Uint8Array, size = 1000): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(content);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const verify = (content: string | Uint8Array) => verifyExport(inPieces(content), { publicKey });
const linesOf = (content: string) => content.trimEnd().split("\n");
const joined = (lines: readonly string[]) => `${lines.join("\n")}\n`;

test("an export has the complete record, with the data to verify it", async () => {
  const types = linesOf(text).map((line) => JSON.parse(line).type);
  expect(types.slice(0, 7)).toEqual(["head", "event", "event", "event", "event", "event", "seal"]);
  expect(types.slice(7)).toEqual([
    "event",
    "seal",
    "event",
    "seal",
    "event",
    "event",
    "seal",
    "checkpoint",
    "event",
    "seal",
    "end",
  ]);
  const report = await verify(text);
  expect(report).toMatchObject({ findings: [], events: 10, signedThrough: 10, tenantId: tenant.id, publicKey });
  const { body } = await tenant.client.get("/tenants/events?limit=100");
  const events = linesOf(text)
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === "event");
  expect(events.map(({ event }) => event)).toEqual(body.data);
  const { headers } = await tenant.client.get("/tenants/events/export");
  expect(headers["content-disposition"]).toMatch(/^attachment; filename="audit-\d{4}-\d\d-\d\d\.ndjson"$/);
});

test("the signing key is the one that exports name", async () => {
  const { body } = await tenant.client.get("/tenants/events/signing-key");
  expect(body).toEqual({ algorithm: "Ed25519", publicKey });
});

test("any byte of an export that is changed is found", async () => {
  const bytes = Buffer.from(text);
  await fc.assert(
    fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, difference) => {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ difference;
      const problems = await verify(changed).then(
        (report) => report.problems,
        (error) => error,
      );
      expect(problems instanceof NotAnExportError || problems > 0, `${difference} at ${at}`).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

test("any line of an export that is taken away, doubled, or moved is found", async () => {
  const lines = linesOf(text);
  await fc.assert(
    fc.asyncProperty(
      fc.nat(lines.length - 1),
      fc.nat(lines.length - 1),
      fc.constantFrom("remove", "double", "move"),
      async (from, to, what) => {
        fc.pre(what !== "move" || lines[from] !== lines[to]);
        const changed = [...lines];
        const [line = ""] = what === "double" ? [lines[from]] : changed.splice(from, 1);
        if (what !== "remove") changed.splice(to, 0, line);
        const problems = await verify(joined(changed)).then(
          (report) => report.problems,
          (error) => error,
        );
        expect(problems instanceof NotAnExportError || problems > 0).toBe(true);
      },
    ),
    { numRuns: 500 },
  );
});

test("a problem in an export is reported at the entry", async () => {
  const lines = linesOf(text);
  const index = lines.findIndex((line) => line.includes('"name":"One"'));
  const { event } = JSON.parse(lines[index] ?? "");
  const changed = lines.with(index, JSON.stringify({ type: "event", event: { ...event, operation: "deleteGroup" } }));
  const { id, createdAt, position } = event;
  expect((await verify(joined(changed))).findings).toContainEqual({
    problem: "changed",
    position,
    id,
    createdAt,
    message: "The entry is not the one that was sealed.",
  });
  expect((await verify(joined(lines.slice(0, -1)))).findings).toMatchObject([{ problem: "missing", position: 11 }]);
});

test("an export that is signed with another key than the expected one is refused", async () => {
  const other = new AuditSigner(Buffer.alloc(32, 1)).publicKey;
  const report = await verifyExport(inPieces(text), { publicKey: other });
  expect(report.problems).toBeGreaterThan(0);
  // Without a given key, the key in the export is used, and the report names it.
  expect(await verifyExport(inPieces(text))).toMatchObject({ problems: 0, publicKey });
});

test("distinguishes a file that is not an export from an invalid export", async () => {
  for (const content of [
    "",
    "position,id\r\n",
    '{"type":"end"}\n',
    "\n",
    text.replace("gatehouse-audit/2", "gatehouse-audit/3"),
  ]) {
    await expect(verify(content)).rejects.toThrow(NotAnExportError);
  }
});

test("with filters an export has the entries that match and every seal between, and verifies", async () => {
  const filtered = await exported("?filter[operation]=createGroup&filter[position][gt]=6");
  expect(JSON.parse(linesOf(filtered)[0] ?? "")).toMatchObject({
    complete: false,
    filters: ["operation eq createGroup", "position gt 6"],
    after: { position: 6 },
  });
  expect(await verify(filtered)).toMatchObject({ findings: [], events: 2, leftOut: 2, signedThrough: 10 });
  const without = linesOf(filtered).filter((line) => !line.includes("=cmd()"));
  expect((await verify(joined(without))).problems).toBeGreaterThan(0);
  expect(await verify(await exported("?filter[operation]=nothing"))).toMatchObject({ findings: [], events: 0 });
});

test("CSV is RFC 4180, and no formula", async () => {
  const { text: csv, headers } = await tenant.client.get("/tenants/events/export?format=csv");
  expect(headers["content-type"]).toBe("text/csv; charset=utf-8; header=present");
  const [head, ...rows] = csv.trimEnd().split("\r\n");
  expect(head).toBe(
    "position,id,createdAt,generation,actor.type,actor.id,actor.name,operation,target.type,target.id,target.name,requestId,sourceAddress,before,after,reason,reverts",
  );
  expect(rows).toHaveLength(10);
  expect(rows[6]).toContain(",'=cmd(),");
  expect(rows[9]).toContain(',"Three ""3"", \u00e4",');
  const filtered = await exported("?format=csv&filter[target.type]=user&filter[operation]=createUsers");
  expect(filtered.trimEnd().split("\r\n")).toHaveLength(3);
});

test("a format or filter that is not known is refused", async () => {
  for (const query of ["?format=xml", "?format=csv&format=csv", "?filter[x]=1", "?sort=id", "?limit=1"]) {
    expect((await tenant.client.get(`/tenants/events/export${query}`)).status, query).toBe(400);
  }
});

test("an export waits for its reader without a transaction", async () => {
  const big = await server.newTenant();
  const owner = new pg.Client(inject("database"));
  await owner.connect();
  const pages = 20;
  // 40 MB, several times the size of the socket buffers.
  await owner.query(
    `INSERT INTO audit_events SELECT (jsonb_populate_record(item, jsonb_build_object('id', gen_random_uuid(),
       'position', 5 + n, 'generation', 2, 'after', jsonb_build_object('text', repeat('x', 20000))))).*
     FROM audit_events AS item, generate_series(1, $2::int) AS n WHERE tenant_id = $1 AND position = 1`,
    [big.id, pages * 100],
  );
  await server.listen();
  const { port } = server.app.server.address() as AddressInfo; // the server listens on TCP
  const snapshots = vi.spyOn(server.database, "snapshot");
  const connection = await RawConnection.open(port);
  connection.socket.pause();
  await connection.write(request("GET /tenants/events/export?format=csv", { apikey: big.key }));
  // The outbox is read continuously.
  const pagesRead = () => snapshots.mock.calls.filter(([{ kind }]) => kind === "tenant").length;
  let read = 0;
  let stillFor = 0;
  await until("the export waits for its reader", () => {
    stillFor = pagesRead() === read ? stillFor + 1 : 0;
    read = pagesRead();
    return read > 1 && stillFor > 50;
  });
  expect(read).toBeLessThan(pages - 4);
  // Transactions of other tests are short.
  await until("no transaction is held", async () => {
    const { rowCount } = await owner.query(
      "SELECT FROM pg_stat_activity WHERE application_name = 'gatehouse' AND datname = current_database() AND state LIKE 'idle in transaction%'",
    );
    return rowCount === 0;
  });
  expect(pagesRead()).toBe(read);
  connection.socket.destroy();
  snapshots.mockRestore();
  await owner.end();
});
