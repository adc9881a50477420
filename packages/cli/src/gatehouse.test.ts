import { execFile } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { until } from "@gatehouse/server/testing/until";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fromSource, GatehouseProcess } from "./testing/gatehouse-process.ts";
import { runHere } from "./testing/run-here.ts";

const execute = promisify(execFile);

let root: string;
let dataDir: string;
let first: GatehouseProcess;
let url: string;
let operatorKey: string;
let apiKey: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "gatehouse-test-"));
  await chmod(root, 0o711); // PostgreSQL's account passes through when the tests run as root
  dataDir = join(root, "data");
  first = serve();
  url = await first.serving();
  operatorKey = /gatehouse_op_\w+/.exec(first.output)?.[0] ?? "";
  apiKey = /gatehouse_key_\w+/.exec(first.output)?.[0] ?? "";
});

afterAll(async () => {
  first.kill("SIGKILL");
  await first.exited();
  await rm(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
});

/** Calls the global fetch on a signal, as a library could. */
const fetchOnSignal = `process.on("SIGUSR2", () =>
  fetch("http://127.0.0.1:9/").catch((error) => console.error(JSON.stringify({ msg: error.message }))))`;

function serve(...args: string[]): GatehouseProcess {
  const options = ["serve", "--port", "0", "--data-dir", dataDir, ...args];
  return new GatehouseProcess(options, {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(fetchOnSignal)}`,
  });
}

const gatehouse = (...args: string[]) => runHere(args);
const asOperator = (...args: string[]) => gatehouse("tenant", ...args, "--url", url, "--operator-key", operatorKey);
const asTenant = (...args: string[]) => gatehouse("key", ...args, "--url", url, "--api-key", apiKey);

test("the first start prints both keys and a curl command that works", async () => {
  const curl = /^ {2}(curl .*)$/m.exec(first.output)?.[1] ?? "";
  expect(curl).toBe(`curl -H 'apikey: ${apiKey}' ${url}/tenants/resources`);
  const { stdout } = await execute("sh", ["-c", curl]).catch(async (error: { code?: unknown }) => {
    if (error.code !== 127) throw error;
    // Without curl, send the same request.
    return { stdout: await (await fetch(`${url}/tenants/resources`, { headers: { apikey: apiKey } })).text() };
  });
  expect(JSON.parse(stdout)).toMatchObject({ data: [], total: 0 });
  expect((await stat(join(dataDir, "master-key"))).mode & 0o777).toBe(0o600);
});

test("the server's process cannot use the global fetch", async () => {
  first.kill("SIGUSR2");
  await until("the process reports the result", () => /global fetch|fetch failed/.test(first.log));
  expect(first.log).toContain("Use platform/outbound");
});

test("with --keys-file, the first keys and the owner's link go to a private file, and are not printed", async () => {
  const keysFile = join(root, "first-keys");
  const server = new GatehouseProcess([
    "serve",
    "--port",
    "0",
    "--data-dir",
    join(root, "other"),
    "--keys-file",
    keysFile,
  ]);
  await server.serving();
  server.kill("SIGTERM");
  await server.exited();
  const keys = await readFile(keysFile, "utf8");
  expect((await stat(keysFile)).mode & 0o777).toBe(0o600);
  for (const secret of [/gatehouse_op_\w+/, /gatehouse_key_\w+/, /Recovery code \S+/, /\/console\/enrol\S+/]) {
    expect(keys).toMatch(secret);
    expect(server.output + server.log).not.toMatch(secret);
  }
  expect(server.output).toContain(`The first keys are in ${keysFile}. Read the file, then delete it.`);
});

test("after an interrupted first start, the keys file has the keys and the owner's link", async () => {
  const keysFile = join(root, "interrupted-keys");
  const start = (port: string) =>
    new GatehouseProcess(["serve", "--port", port, "--data-dir", join(root, "second"), "--keys-file", keysFile]);
  const interrupted = start(new URL(url).port);
  expect(await interrupted.exited()).toBe(1);
  await expect(stat(keysFile)).rejects.toThrow("ENOENT");
  const server = start("0");
  const { port } = new URL(await server.serving());
  server.kill("SIGTERM");
  await server.exited();
  const keys = await readFile(keysFile, "utf8");
  expect(keys).toMatch(/gatehouse_op_\w+/);
  expect(keys).toMatch(new RegExp(`^ {2}http://localhost:${port}/console/enrol\\S+$`, "m"));
  expect(server.output).toContain(`The first keys are in ${keysFile}.`);
  expect(server.output).not.toContain("shown at the first start");
});

test("a keys file in a missing folder is refused before keys exist", async () => {
  const args = [
    "serve",
    "--port",
    "0",
    "--data-dir",
    join(root, "third"),
    "--keys-file",
    join(root, "missing", "keys"),
  ];
  expect(await gatehouse(...args)).toMatchObject({ code: 1, errors: expect.stringContaining("Cannot write to") });
  await expect(stat(join(root, "third"))).rejects.toThrow("ENOENT");
});

test("logs are JSON on standard error, without the keys", () => {
  for (const line of first.log.trim().split("\n")) expect(JSON.parse(line)).toHaveProperty("msg");
  expect(first.log).not.toContain(operatorKey);
  expect(first.log).not.toContain(apiKey);
});

test("a second start on the same folder fails with a remedy", async () => {
  const second = serve();
  expect(await second.exited()).toBe(1);
  expect(second.output).toBe("");
  expect(second.log).toMatch(/^The data folder .* is in use by another Gatehouse, process \d+\.\nStop it first /);
});

test("tenants can be created, listed and deleted", async () => {
  const made = await asOperator("create", "Example Ltd", "--owner-email", "owner@example.com");
  expect(made).toMatchObject({ code: 0, errors: "" });
  expect(made.output).toMatch(/API key {2}gatehouse_key_/);
  const id = /Id +(\S+)/.exec(made.output)?.[1] ?? "";

  const listed = await asOperator("list");
  expect(listed.output).toMatch(/^ID +NAME +OWNER +CREATED\n/);
  expect(listed.output).toContain(`${id}  Example Ltd   owner@example.com`);
  expect(JSON.parse((await asOperator("list", "--json")).output)).toHaveLength(2);

  const unconfirmed = await asOperator("delete", id);
  expect(unconfirmed).toMatchObject({ code: 2, errors: expect.stringContaining("--yes") });
  expect(await asOperator("delete", id, "--yes")).toMatchObject({ code: 0, output: `Deleted the tenant ${id}.\n` });
  expect(JSON.parse((await asOperator("list", "--json")).output)).toHaveLength(1);
});

test("keys can be created, listed and revoked", async () => {
  const made = await asTenant(
    "create",
    "Audit",
    "--permission",
    "resources:read",
    "--source-ip",
    "192.0.2.0/24",
    "--json",
  );
  const key = JSON.parse(made.output);
  expect(key).toMatchObject({ name: "Audit", permissions: ["resources:read"], sourceIps: ["192.0.2.0/24"] });
  expect((await asTenant("list")).output).toMatch(
    new RegExp(`${key.id} +Audit +gatehouse_key_.* +resources:read +never +never`),
  );
  expect(await asTenant("revoke", key.id)).toMatchObject({ code: 0, output: `Revoked the API key ${key.id}.\n` });
  expect((await asTenant("list")).output).not.toContain("Audit");
});

test("an API error is shown with title, detail, fields and request id", async () => {
  const refused = await asOperator("create", "First tenant", "--owner-email", "owner@example.com");
  expect(refused.code).toBe(1);
  expect(refused.errors).toMatch(/\(409\)\.\n.*"First tenant"\. .*\n {2}\/name {2}is taken\nRequest id: \S+\n$/);
  const asJson = await asOperator("create", "First tenant", "--owner-email", "owner@example.com", "--json");
  expect(asJson).toMatchObject({ code: 1, output: "" });
  expect(JSON.parse(asJson.errors)).toMatchObject({ code: "name_taken", status: 409 });
});

test("an invalid command line exits with 2 and a message", async () => {
  expect(await gatehouse("tenant", "list", "--url", url)).toMatchObject({
    code: 2,
    errors: "The key is missing. Set --operator-key or GATEHOUSE_OPERATOR_KEY.\n",
  });
  expect(await asTenant("create", "x", "--role", "KING")).toMatchObject({
    code: 2,
    errors: expect.stringMatching(/OWNER/),
  });
  expect(await gatehouse("srve")).toMatchObject({ code: 2, errors: expect.stringContaining("Did you mean serve?") });
  expect(await gatehouse("serve", "--port", "x")).toMatchObject({
    code: 2,
    errors: expect.stringContaining("--port must be"),
  });
});

test("a server that does not respond is named with its address", async () => {
  const { code, errors } = await gatehouse(
    "tenant",
    "list",
    "--url",
    "http://127.0.0.1:1",
    "--operator-key",
    operatorKey,
  );
  expect(code).toBe(1);
  expect(errors).toMatch(/^No response from Gatehouse at http:\/\/127\.0\.0\.1:1: /);
  expect(errors).toContain("GATEHOUSE_URL");
});

test("every command has help", async () => {
  const { code, output } = await gatehouse("serve", "--help");
  expect(code).toBe(0);
  for (const flag of ["--port <number>", "--data-dir <folder>", "--demo", "GATEHOUSE_MASTER_KEY"])
    expect(output).toContain(flag);
  for (const args of [["tenant", "create"], ["tenant", "delete"], ["key", "create"], ["migrate"], []]) {
    expect(await gatehouse(...args, "--help")).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^Usage: gatehouse/),
    });
  }
});

test.runIf(process.platform === "linux").each([
  ["the reader has gone", "| true", "", /^$/],
  [
    "the disk is full",
    "> /dev/full; echo ended with $?",
    "ended with 1\n",
    /^Cannot write to standard output: ENOSPC.*\n$/,
  ],
])("a failure to write output does not crash: %s", async (_, redirection, output, errors) => {
  const command = `"$0" "$@" --help ${redirection}`;
  const ended = await execute("sh", ["-c", command, process.execPath, ...fromSource]);
  expect(ended.stdout).toBe(output);
  expect(ended.stderr).toMatch(errors);
});

// Must be last: ends the server that the previous tests use.
test("SIGTERM stops the server gracefully, and the next start finds the data", async () => {
  first.kill("SIGTERM");
  expect(await first.exited()).toBe(0);
  expect(await readdir(join(dataDir, "postgres"))).not.toContain("postmaster.pid");

  const next = serve("--log-level", "silent");
  const address = await next.serving();
  expect(next.output).not.toMatch(/gatehouse_(op|key)_/);
  expect(next.output).toContain("The keys and the owner's link were shown at the first start.");
  expect(next.output).toContain("gatehouse user invite-link");
  const answer = await fetch(`${address}/operator/tenants`, { headers: { apikey: operatorKey } });
  expect(await answer.json()).toMatchObject({ data: [{ name: "First tenant" }], total: 1 });
  next.kill("SIGINT");
  expect(await next.exited()).toBe(0);
  expect(next.log).toBe("");
});
