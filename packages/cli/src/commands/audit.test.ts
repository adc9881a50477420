import { randomBytes, randomUUID } from "node:crypto";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "@gatehouse/server/config";
import { type Gatehouse, startGatehouse } from "@gatehouse/server/main";
import { createLog } from "@gatehouse/server/platform/log";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Ran, runHere } from "../testing/run-here.ts";

let root: string;
let dataDir: string;
let file: string;

let duringServer: Ran;

/**
 * Prepares a data folder that no server uses any more, an export of its record, and the result of verifying it while it
 * was served.
 */
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "gatehouse-test-"));
  await chmod(root, 0o711); // PostgreSQL's account passes through when the tests run as root
  dataDir = join(root, "data");
  file = join(root, "record.ndjson");
  const key = randomBytes(20).toString("hex");
  const flags = { dataDir, port: "0", bootstrapApiKey: key };
  const gatehouse: Gatehouse = await startGatehouse(readConfig({ flags, environment: {} }), createLog("silent"));
  try {
    const exported = await fetch(`${gatehouse.address}/tenants/events/export`, { headers: { apikey: key } });
    await writeFile(file, await exported.text());
    duringServer = await verify("--data-dir", dataDir, "--json", "--log-level", "silent");
  } finally {
    await gatehouse.close();
  }
});
afterAll(() => rm(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));

const verify = (...args: string[]) => runHere(["audit", "verify", ...args]);

test("verifies an export, and shows the public key", async () => {
  const { code, output } = await verify("--file", file);
  expect(code).toBe(0);
  expect(output).toMatch(/^Tenant [0-9a-f-]{36}: intact$/m);
  expect(output).toMatch(/^ {2}Entries {6}7, through position 7$/m);
  const json = JSON.parse((await verify("--file", file, "--json")).output);
  expect(json).toMatchObject([{ problems: 0, findings: [], events: 7, head: { position: 7 } }]);
  expect(output).toContain(json[0].publicKey);
});

test("reports the problems of an export, and exits with 1", async () => {
  const tampered = join(root, "tampered.ndjson");
  await writeFile(tampered, (await readFile(file, "utf8")).replace('"name":"Default"', '"name":"Forged"'));
  const { code, output, errors } = await verify("--file", tampered);
  expect(code).toBe(1);
  expect(output).toContain("NOT INTACT");
  expect(output).toMatch(
    /\[changed\] position \d, [0-9a-f-]{36}, \d{4}-\S+Z: The entry is not the one that was sealed\./,
  );
  expect(errors).toContain("The audit record was changed: 2 problems found.");
  const json = await verify("--file", tampered, "--json");
  expect(json.code).toBe(1);
  expect(JSON.parse(json.errors)).toMatchObject({ problems: 2 });
});

test("verifies the database of a data folder, for all tenants or one, against a stored head", async () => {
  const all = await verify("--data-dir", dataDir, "--json", "--log-level", "silent");
  expect(all.code, all.errors).toBe(0);
  const [{ tenantId, head }] = JSON.parse(all.output);
  const one = ["--data-dir", dataDir, "--log-level", "silent", "--tenant", tenantId];
  expect((await verify(...one, "--expect-head", head.hash)).code).toBe(0);
  const heads = join(root, "heads.json");
  await writeFile(heads, all.output);
  const expected = ["--data-dir", dataDir, "--log-level", "silent", "--live", "--expect-heads"];
  const again = await verify(...expected, heads);
  expect(again.code, again.output).toBe(0);
  await writeFile(heads, all.output.replaceAll(head.hash, "0123456789abcdef".repeat(4)));
  expect(await verify(...expected, heads)).toMatchObject({ code: 1, output: expect.stringContaining("[head]") });
  await writeFile(heads, all.output.replaceAll(tenantId, randomUUID()));
  expect(await verify(...expected, heads)).toMatchObject({ code: 1, output: expect.stringContaining("are gone") });
  await writeFile(heads, "[]");
  expect((await verify(...expected, heads)).errors).toContain("does not contain heads");
  const accepted = await runHere([
    ...["audit", "accept-head", "--reason", "Restored a backup"],
    ...["--data-dir", dataDir, "--log-level", "silent"],
  ]);
  expect(accepted, accepted.errors).toMatchObject({ code: 0, output: expect.stringContaining(head.hash) });
  const other = await verify(...one, "--expect-head", "0123456789abcdef".repeat(4));
  expect(other.code).toBe(1);
  expect(other.output).toContain("[head]");
});

test("verifies the database of a data folder while a server uses it", () => {
  expect(duringServer.code, duringServer.errors).toBe(0);
  expect(JSON.parse(duringServer.output)).toMatchObject([
    { problems: 0, findings: [], events: 7, head: { position: 7 } },
    { problems: 0, findings: [], events: 1, head: { position: 1 } },
  ]);
});

test("reports an invalid file, key or option", async () => {
  expect((await verify("--file", join(root, "none"))).errors).toMatch(/Cannot read .*ENOENT/);
  expect((await verify("--file", file, "--public-key", "nonsense")).errors).toContain("32 bytes in base64");
  expect(await verify("--file", file, "--expect-head", "XYZ")).toMatchObject({ code: 2 });
  expect(await verify("--expect-head", "0".repeat(64))).toMatchObject({ code: 2 });
  await writeFile(join(root, "other.csv"), "position,id\r\n");
  expect((await verify("--file", join(root, "other.csv"))).errors).toContain("not an NDJSON export");
});
