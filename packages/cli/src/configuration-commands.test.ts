/** export, plan and apply against a server with the example records. */
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { GatehouseProcess } from "./testing/gatehouse-process.ts";
import { runHere } from "./testing/run-here.ts";

let root: string;
let server: GatehouseProcess;
let url: string;
let apiKey: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "gatehouse-test-"));
  await chmod(root, 0o711); // PostgreSQL's account passes through when the tests run as root
  server = new GatehouseProcess(["demo", "--port", "0", "--data-dir", join(root, "data")]);
  url = await server.serving();
  apiKey = /gatehouse_key_\w+/.exec(server.output)?.[0] ?? "";
});

afterAll(async () => {
  server.kill("SIGKILL");
  await server.exited();
  await rm(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
});

afterEach(() => {
  vi.restoreAllMocks();
});

const gatehouse = (...args: string[]) => runHere([...args, "--url", url, "--api-key", apiKey]);
const fileOf = (name: string) => join(root, name);

async function exported(): Promise<string> {
  const { code, output } = await gatehouse("export");
  expect(code).toBe(0);
  return output;
}

/** Writes the tenant's export with a replacement. */
async function changedFile(name: string, from: string | RegExp, to: string): Promise<string> {
  const text = await exported();
  const changed = text.replace(from, to);
  expect(changed).not.toBe(text);
  await writeFile(fileOf(name), changed);
  return fileOf(name);
}

test("the example tenant can be exported, and applying the export changes nothing", async () => {
  const file = fileOf("whole.yaml");
  expect(await gatehouse("export", "--output", file)).toEqual({ code: 0, output: "", errors: "" });
  const text = await readFile(file, "utf8");
  expect(text).toBe(await exported());
  expect(text).toMatch(
    new RegExp(`^# yaml-language-server: \\$schema=${url}/schemas/configuration\\.json\nversion: 1\ngroups:\n`),
  );
  expect(text).not.toMatch(/gatehouse_|[0-9a-f]{8}-[0-9a-f]{4}-/);
  const nothing = "No changes. The tenant matches the file.\n";
  expect(await gatehouse("plan", file, "--detailed-exit-code")).toEqual({ code: 0, output: nothing, errors: "" });
  expect(await gatehouse("apply", file, "--yes")).toEqual({ code: 0, output: nothing, errors: "" });
  const asJson = await gatehouse("export", "--json");
  expect(JSON.parse(asJson.output)).toMatchObject({ version: 1, resources: expect.any(Array) });
});

test("a plan is shown and applied, and is empty the second time", async () => {
  const file = await changedFile(
    "changed.yaml",
    "name: Sales\n    description: ",
    "name: Sales\n    maxDevices: 7\n    description: New. ",
  );
  const planned = await gatehouse("plan", file, "--detailed-exit-code");
  const lines = [
    "~ group Sales",
    '    description: "Wins and retains customers." → "New. Wins and retains customers."',
    "    maxDevices: 5 → 7",
    "Plan: none to create, 1 to change, none to delete.",
    "",
  ];
  expect(planned).toEqual({ code: 3, output: lines.join("\n"), errors: "" });
  expect((await gatehouse("plan", file)).code).toBe(0);
  expect(JSON.parse((await gatehouse("plan", file, "--json")).output)).toMatchObject({ summary: { updated: 1 } });

  expect(await gatehouse("apply", file)).toMatchObject({ code: 2, errors: expect.stringContaining("--yes") });
  const applied = await gatehouse("apply", file, "--yes");
  expect(applied.output).toBe(`${lines.join("\n")}Applied: none created, 1 changed, none deleted.\n`);
  expect((await gatehouse("apply", file, "--yes")).output).toBe("No changes. The tenant matches the file.\n");
});

test("errors are shown with line and column, and nothing is applied", async () => {
  const file = await changedFile("wrong.yaml", /groups: \[Sales\]/g, "groups: [Sale]");
  const before = await exported();
  for (const command of [
    ["plan", file],
    ["apply", file, "--yes"],
  ]) {
    const { code, output, errors } = await gatehouse(...command);
    expect({ code, output }).toEqual({ code: 1, output: "" });
    expect(errors).toMatch(/^The configuration cannot be applied \(422\)\.\n/);
    const [, line = "", column = ""] =
      new RegExp(`${file}:(\\d+):(\\d+) {2}the document has no group "Sale"`).exec(errors) ?? [];
    const text = (await readFile(file, "utf8")).split("\n")[Number(line) - 1];
    expect(text?.slice(Number(column) - 1)).toBe("Sale]");
    expect(errors).toContain('did you mean "Sales"?');
  }
  expect(await exported()).toBe(before);
  await writeFile(file, "version: 1\nresources:\n  - nam: Typo\n    type: PRIVATE\n");
  const { errors } = await gatehouse("plan", file, "--json");
  expect(JSON.parse(errors)).toMatchObject({
    code: "invalid_body",
    errors: expect.arrayContaining([
      { pointer: "/resources/0/nam", message: "is not a field of this operation", place: "3:10" },
      { pointer: "/resources/0/name", message: "is required", place: "3:5" },
    ]),
  });
});

test("standard input works as a file, but requires --yes", async () => {
  const text = `${await exported()}`.replace("Wins and retains", "Wins and keeps");
  // The command only reads the stream.
  vi.spyOn(process, "stdin", "get").mockImplementation(() => Readable.from([Buffer.from(text)]) as never);
  expect(await gatehouse("plan", "-")).toMatchObject({ code: 0, output: expect.stringContaining("~ group Sales") });
  expect(await gatehouse("apply", "-")).toMatchObject({ code: 2, errors: expect.stringContaining("--yes") });
  expect(await gatehouse("apply", "-", "--yes", "--json")).toMatchObject({ code: 0 });
});

test("sections that the key cannot read are omitted and reported", async () => {
  const made = await gatehouse(
    "key",
    "create",
    "Narrow",
    "--permission",
    "configuration:read",
    "groups:read",
    "--json",
  );
  const narrow = JSON.parse(made.output).key;
  const { code, output, errors } = await runHere(["export", "--url", url, "--api-key", narrow]);
  expect(code).toBe(0);
  expect(output).toMatch(/^.*\nversion: 1\ngroups:\n/);
  expect(errors).toBe(
    "Omitted sections that the key cannot read: users, protocols, gateways, resources, admissionRules, policies, defaultInternetPolicy, identityProviders, settings.\n",
  );
  expect(await runHere(["plan", fileOf("whole.yaml"), "--url", url, "--api-key", narrow])).toMatchObject({
    code: 1,
    errors: expect.stringContaining("users:read"),
  });
});

test("a file that does not exist or cannot be written is named", async () => {
  expect(await gatehouse("plan", fileOf("none.yaml"))).toMatchObject({
    code: 1,
    errors: expect.stringContaining("none.yaml"),
  });
  expect(await gatehouse("plan", root)).toMatchObject({ code: 1, errors: expect.stringContaining("Cannot read") });
  await writeFile(fileOf("bytes.yaml"), Buffer.from([0x76, 0xff]));
  expect(await gatehouse("plan", fileOf("bytes.yaml"))).toMatchObject({
    code: 1,
    errors: expect.stringContaining("UTF-8"),
  });
  expect(await gatehouse("export", "--output", join(root, "no", "folder"))).toMatchObject({
    code: 1,
    errors: expect.stringContaining("Cannot write"),
  });
});
