import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { GatehouseProcess } from "../testing/gatehouse-process.ts";
import { CommandHere, runHere } from "../testing/run-here.ts";
import { type ServedInstallation, serveHere } from "../testing/served-here.ts";
import { shown } from "../testing/shown.ts";
import type { Credentials } from "./credential-file.ts";

let root: string;
let server: ServedInstallation;
/** The address of the server, which is not its public address. */
let url: string;
let publicUrl: string;
/** Headers of a page in which the owner is signed in. */
let page: Record<string, string>;
let apiKey: string;
let configuration: string;
let contexts: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "gatehouse-test-"));
  server = await serveHere();
  ({ url, publicUrl, apiKey } = server);
  page = await server.signInOwner();
});
afterAll(async () => {
  await server?.close();
  await rm(root, { recursive: true, force: true });
});

beforeEach(async () => {
  configuration = await mkdtemp(join(root, "configuration-"));
  contexts = join(configuration, "gatehouse", "credentials.json");
  vi.stubEnv("XDG_CONFIG_HOME", configuration);
  // Starts, and shows nothing: the tests are the browser.
  vi.stubEnv("BROWSER", "true");
});
afterEach(() => vi.unstubAllEnvs());

async function step(path: string, body: object): Promise<{ readonly redirectTo: string }> {
  const response = await fetch(`${url}${path}`, { method: "POST", headers: page, body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  return (await response.json()) as { redirectTo: string };
}

/** Signs in through the browser, and returns the command and the address that the browser opened. */
async function openLogin(...more: readonly string[]) {
  const command = new CommandHere(["login", "--url", url, ...more]);
  const opened = new URL(await shown(command, /^ {2}(http\S+)$/m));
  const request = Object.fromEntries(opened.searchParams);
  delete request.scope;
  return { command, opened, request };
}

async function logIn(...more: readonly string[]): Promise<CommandHere> {
  const { command, request } = await openLogin(...more);
  const known = ["response_type", "client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method"];
  const asked = Object.fromEntries(
    Object.entries(request).filter(([name]) => [...known, "max_age", "machine"].includes(name)),
  );
  const { redirectTo } = await step("/console/authorization", { request: asked, approve: true });
  const answer = await fetch(redirectTo);
  expect(await answer.text()).toContain("Signed in");
  expect(await command.exited(), command.log).toBe(0);
  return command;
}

const credentials = async (): Promise<Credentials> => JSON.parse(await readFile(contexts, "utf8"));

/** Makes the access token look expired, so that the next command replaces it. */
async function expire(): Promise<void> {
  const { contexts: all, ...rest } = await credentials();
  const expired = Object.fromEntries(
    Object.entries(all).map(([name, context]) => [name, { ...context, accessExpiresAt: "2020-01-01T00:00:00Z" }]),
  );
  await writeFile(contexts, JSON.stringify({ ...rest, contexts: expired }));
}

test("login through the browser signs in at the public address, and commands then need no key", async () => {
  const { output } = await logIn();
  expect(output).toContain(`Signed in at ${publicUrl} as `);
  expect((await stat(contexts)).mode & 0o777).toBe(0o600);
  expect((await stat(join(configuration, "gatehouse"))).mode & 0o777).toBe(0o700);
  const who = await runHere(["whoami", "--json"]);
  expect(who.code, who.errors).toBe(0);
  expect(JSON.parse(who.output)).toMatchObject({ url: publicUrl, method: "recovery-code" });
  const keys = await runHere(["key", "list"]);
  expect(keys.code, keys.errors).toBe(0);
  const made = await runHere(["key", "create", "Inventory", "--permission", "resources:read", "--json"]);
  expect(made.code, made.errors).toBe(0);
  expect(made.output + made.errors + output).not.toContain("gatehouse_access_");
});

test("the loopback listener ignores requests without the state, and of other hosts", async () => {
  const { command, request } = await openLogin();
  const { redirect_uri: redirectUri = "", state = "" } = request;
  expect((await fetch(`${redirectUri}?code=stolen&state=another`)).status).toBe(404);
  expect((await fetch(`${redirectUri}?code=stolen`)).status).toBe(404);
  expect((await fetch(`${new URL("/other", redirectUri).href}?code=stolen&state=${state}`)).status).toBe(404);
  expect((await fetch(redirectUri, { method: "POST" })).status).toBe(404);
  const { redirectTo } = await step("/console/authorization", {
    request: Object.fromEntries(Object.entries(request).filter(([name]) => name !== "scope")),
    approve: false,
  });
  await fetch(redirectTo);
  expect(await command.exited()).toBe(1);
  expect(command.log).toContain("The sign-in was refused in the browser.");
});

test("login with a code signs in through the browser of another machine", async () => {
  const command = new CommandHere(["login", "--url", url, "--no-browser", "--context", "elsewhere"]);
  const code = await shown(command, /^ {2}([A-Z]{4}-[A-Z]{4})$/m);
  await step("/console/device-authorization", { code, approve: true });
  expect(await command.exited(), command.log).toBe(0);
  const { output } = await runHere(["context", "list", "--json"]);
  expect(JSON.parse(output)).toMatchObject([{ name: "elsewhere", current: true, url: publicUrl }]);
  expect(output).not.toContain("gatehouse_");
});

test("commands that find the token expired replace it once, also at the same time", async () => {
  await logIn();
  const before = await credentials();
  await expire();
  const ran = await Promise.all(
    [1, 2, 3].map(async () => {
      const command = new GatehouseProcess(["key", "list"]);
      return { code: await command.exited(), log: command.log };
    }),
  );
  expect(ran).toEqual([1, 2, 3].map(() => ({ code: 0, log: "" })));
  const after = await credentials();
  expect(after.contexts).not.toEqual(before.contexts);
  expect((await stat(contexts)).mode & 0o777).toBe(0o600);
});

test("a token that the server refuses is replaced, although it looks valid by a wrong clock", async () => {
  await logIn();
  const { contexts: all, ...rest } = await credentials();
  const [[name, context] = expect.fail("no context")] = Object.entries(all);
  const ahead = { accessToken: "gatehouse_access_expired", accessExpiresAt: "2999-01-01T00:00:00Z" };
  await writeFile(contexts, JSON.stringify({ ...rest, contexts: { [name]: { ...context, ...ahead } } }));
  const made = await runHere(["key", "create", "Inventory", "--permission", "resources:read", "--json"]);
  expect(made.code, made.errors).toBe(0);
  expect((await credentials()).contexts[name]?.accessToken).not.toBe(ahead.accessToken);
});

test("tokens go only to the server that issued them", async () => {
  await logIn();
  const elsewhere = await runHere(["key", "list", "--url", "http://127.0.0.1:9"]);
  expect(elsewhere.errors).toContain("The key is missing. Run gatehouse login");
  const { current = "" } = await credentials();
  const mismatch = await runHere(["key", "list", "--context", current, "--url", "http://127.0.0.1:9"]);
  expect(mismatch).toMatchObject({ code: 2 });
  expect(mismatch.errors).toContain("not for http://127.0.0.1:9");
  const withKey = await runHere(["key", "list", "--url", url, "--api-key", apiKey]);
  expect(withKey.code, withKey.errors).toBe(0);
});

test("a file that others can read is refused", async () => {
  await logIn();
  await chmod(contexts, 0o644);
  const { code, errors } = await runHere(["key", "list"]);
  expect(code).toBe(1);
  expect(errors).toContain(`Others can read ${contexts}`);
});

test("a session that ended at the server says how to sign in again", async () => {
  await logIn();
  const { contexts: all } = await credentials();
  const [context] = Object.values(all);
  const headers = { apikey: apiKey };
  expect((await fetch(`${url}/tenants/users/${context?.user.id}/sessions`, { method: "GET", headers })).status).toBe(
    405,
  );
  const { data } = (await (await fetch(`${url}/tenants/sessions`, { headers })).json()) as {
    data: { id: string; client: string }[];
  };
  for (const { id } of data.filter(({ client }) => client === "cli")) {
    await fetch(`${url}/tenants/sessions/${id}`, { method: "DELETE", headers });
  }
  const { code, errors } = await runHere(["key", "list"]);
  expect(code).toBe(1);
  expect(errors).toContain(`Run gatehouse login --url ${publicUrl}.`);
  await expire();
  expect((await runHere(["key", "list"])).errors).toMatch(new RegExp(`^Your session at ${publicUrl} has ended\\.`));
});

test("logout ends the session at the server and deletes the tokens", async () => {
  await logIn("--context", "first");
  await logIn("--context", "second");
  expect((await runHere(["context", "use", "first"])).code).toBe(0);
  for (const name of ["third", "constructor"]) {
    expect((await runHere(["context", "use", name])).errors).toContain(`The context "${name}" does not exist.`);
  }
  const { contexts: all } = await credentials();
  const out = await runHere(["logout"]);
  expect(out.code, out.errors).toBe(0);
  const authorization = `Bearer ${all.first?.accessToken}`;
  expect((await fetch(`${url}/tenants/users`, { headers: { authorization } })).status).toBe(401);
  expect(Object.keys((await credentials()).contexts)).toEqual(["second"]);
  expect((await runHere(["whoami"])).errors).toContain("You are not signed in.");
  expect((await runHere(["whoami", "--context", "second"])).code).toBe(0);
});
