/** Errors of commands: unexpected responses, output failures and invalid command lines. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createDeviceProgram } from "./device-program.ts";
import { runHere } from "./testing/run-here.ts";

const id = "01890a5d-ac96-774b-bcce-b302099a8057";
const otherId = "01890a5d-ac96-774b-bcce-b302099a8058";
const moment = "2030-01-31T12:00:00.000Z";
const key = { id, name: "Audit", prefix: "gatehouse_key_1", permissions: ["resources:read"] };
const newKey = { ...key, key: "the secret" };
const newTenant = {
  tenant: { id: otherId, name: "Example Ltd", ownerEmail: "owner@example.com", createdAt: moment },
  apiKey: newKey,
};

let server: Server;
let url: string;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let requests: string[];

beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A listening TCP server has an address of this kind.
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await once(server, "close");
});

beforeEach(() => {
  requests = [];
  answer = (_, response) => response.writeHead(204).end();
});

function answerJson(status: number, body: unknown): void {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  answer = (_, response) => response.writeHead(status, { "content-type": "application/json" }).end(text);
}

const forTenant = (command: readonly string[]) => ["key", ...command, "--url", url, "--api-key", "k"];
const forOperator = (command: readonly string[]) => ["tenant", ...command, "--url", url, "--operator-key", "k"];
const createTenant = () => forOperator(["create", "Example Ltd", "--owner-email", "owner@example.com"]);

test.each([301, 302, 307, 308])("a redirect with %i is reported and not followed", async (status) => {
  answer = (_, response) =>
    response.writeHead(status, { location: "https://user:secret@gatehouse.example.com/base/tenants/api-keys?a" }).end();
  const { code, output, errors } = await runHere(forTenant(["list"]));
  expect({ code, output }).toEqual({ code: 1, output: "" });
  expect(errors).toBe(
    `${url} redirects to https://gatehouse.example.com/base. Use that address for --url or GATEHOUSE_URL.\n`,
  );
  expect(requests).toHaveLength(1);
});

test("a redirect to an invalid address is an unexpected response", async () => {
  answer = (_, response) => response.writeHead(302, { location: "http://[" }).end();
  expect(await runHere(forTenant(["list"]))).toMatchObject({
    code: 1,
    errors: expect.stringContaining("is not Gatehouse"),
  });
});

test.each([
  ["JSON that ends early", 200, "[{"],
  ["no JSON at all, with an error", 500, "<html>"],
  ["an error of another program", 404, { message: "no Route matched" }],
  ["an error without a request id", 404, { title: "Not found", code: "not_found", status: 404, detail: "x" }],
  ["null for an error", 500, null],
  ["an object for a list", 200, { data: [] }],
  ["keys without their fields", 200, [{}]],
  ["null for a key", 200, [null]],
])("an unexpected list of keys is rejected: %s", async (_, status, body) => {
  answerJson(status, body);
  const { code, output, errors } = await runHere(forTenant(["list"]));
  expect({ code, output }).toEqual({ code: 1, output: "" });
  expect(errors).toContain(`The server at ${url} is not Gatehouse: status ${status}, not `);
  expect(errors).not.toMatch(/undefined|TypeError/);
});

test.each([
  ["an array", []],
  ["a page without data", { hasNext: false }],
  ["a page that would never end", { data: [], hasNext: true }],
  ["a page of something else", { data: [{ id }], hasNext: false }],
])("an unexpected list of tenants is rejected: %s", async (_, body) => {
  answerJson(200, body);
  const { code, errors } = await runHere(forOperator(["list"]));
  expect({ code, errors }).toEqual({ code: 1, errors: expect.stringContaining("is not Gatehouse") });
});

test("a created record without its secret is rejected", async () => {
  answerJson(201, key);
  expect(await runHere(forTenant(["create", "Audit"]))).toMatchObject({ code: 1, output: "" });
  answerJson(201, { ...newTenant, apiKey: key });
  expect(await runHere(createTenant())).toMatchObject({ code: 1, output: "" });
});

test("a write without a response is reported as unknown, even if a retry cannot connect", async () => {
  answer = (request) => request.socket.destroy();
  const { code, errors } = await runHere(forTenant(["create", "Audit"]));
  expect({ code, errors }).toEqual({ code: 1, errors: expect.stringContaining("may have performed the request") });
  expect(errors).not.toContain("Start Gatehouse");
  // The first attempt of a repeatable write was sent, and the server stops.
  const stopping = createServer((request) => {
    stopping.close();
    request.socket.destroy();
  });
  stopping.listen(0, "127.0.0.1");
  await once(stopping, "listening");
  const at = `http://127.0.0.1:${(stopping.address() as AddressInfo).port}`;
  const revoked = await runHere(["key", "revoke", id, "--url", at, "--api-key", "k"]);
  expect(revoked.errors).toContain("ECONNREFUSED");
  expect(revoked.errors).toContain("may have performed the request");
});

test("a read without a response, and a write that was not sent, say how to reach Gatehouse", async () => {
  answer = (request) => request.socket.destroy();
  expect((await runHere(forTenant(["list"]))).errors).toContain("Start Gatehouse");
  const closed = createServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const at = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`;
  closed.close();
  await once(closed, "close");
  const { errors } = await runHere(["key", "create", "Audit", "--url", at, "--api-key", "k"]);
  expect(errors).toContain("Start Gatehouse");
  expect(errors).not.toContain("may have");
});

test("a revocation counts only if Gatehouse confirms it", async () => {
  answerJson(200, "{}");
  expect(await runHere(forTenant(["revoke", id]))).toMatchObject({ code: 1, output: "" });
});

test.each([
  "http://user:secret@127.0.0.1",
  "http://secret@127.0.0.1",
  "ftp://user:secret@127.0.0.1",
  "http://user:sec ret@[",
  "http://127.0.0.1/?token=secret",
  "http://127.0.0.1/#secret",
])("a URL with more than an address is rejected and not repeated: %s", async (wrong) => {
  const { code, errors } = await runHere(["key", "list", "--api-key", "k", "--url", wrong]);
  expect({ code, errors }).toEqual({ code: 2, errors: expect.stringContaining("--url") });
  expect(errors).not.toMatch(/secret|sec ret/);
});

test.each(["..", ".", "", `${id}/rotate`, `${id} `])("an invalid id is rejected with its value: %j", async (wrong) => {
  for (const command of [forTenant(["revoke", wrong]), forOperator(["delete", wrong, "--yes"])]) {
    expect(await runHere(command)).toMatchObject({ code: 2, errors: expect.stringContaining(`'${wrong}'`) });
  }
  expect(requests).toEqual([]);
});

test("with --json, an invalid command line is reported as JSON only", async () => {
  for (const [args, title] of [
    [["srve", "--json"], "unknown command 'srve'"],
    [["key", "list", "--json", "--wrong"], "unknown option '--wrong'"],
    [["key", "create", "--json"], "missing required argument 'name'"],
    [["key", "--json"], "unknown option '--json'"],
  ] as const) {
    const { code, output, errors } = await runHere(args);
    expect({ code, output }).toEqual({ code: 2, output: "" });
    expect(JSON.parse(errors)).toMatchObject({ title });
  }
});

test.each([
  [["srve"], "gatehouse --help for a list of commands"],
  [["key", "crate"], "gatehouse key --help for a list of commands"],
  [["key", "list", "--wrong"], "gatehouse key list --help for its options"],
  [["key", "create"], "gatehouse key create --help for its options"],
  [["serve", "--port"], "gatehouse serve --help for its options"],
])("after the invalid command line %j, the hint names the help of that command: %s", async (args, hint) => {
  const { code, output, errors } = await runHere(args);
  expect({ code, output }).toEqual({ code: 2, output: "" });
  expect(errors).toMatch(/^error: .+/);
  expect(errors.trimEnd().split("\n").at(-1)).toBe(`Run ${hint}.`);
});

test("an invalid command line of gatehouse-device names the help of its command", async () => {
  const { errors } = await runHere(["status", "--wrong"], undefined, createDeviceProgram);
  expect(errors).toMatch(/\nRun gatehouse-device status --help for its options\.\n$/);
});

test("help is text and written once, even with --json", async () => {
  expect(await runHere(["key", "--help", "--json"])).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^Usage: gatehouse key/),
    errors: "",
  });
});

test("a reader that has gone is not a failure", async () => {
  answerJson(200, [key]);
  expect(await runHere(forTenant(["list", "--json"]), "EPIPE")).toEqual({ code: 0, output: "", errors: "" });
  expect(await runHere(["--help"], "EPIPE")).toEqual({ code: 0, output: "", errors: "" });
});

test("a failure to write output is reported on one line", async () => {
  answerJson(200, [key]);
  const failed = { code: 1, output: "", errors: "Cannot write to standard output: ENOSPC.\n" };
  expect(await runHere(forTenant(["list"]), "ENOSPC")).toEqual(failed);
  expect(await runHere(["--help"], "ENOSPC")).toEqual(failed);
});

test.each(["ENOSPC", "EPIPE"])("a secret lost to %s is reported with the id to revoke", async (outputError) => {
  answerJson(201, newKey);
  const lostKey = await runHere(forTenant(["create", "Audit"]), outputError);
  expect(lostKey.code).toBe(1);
  expect(lostKey.errors).toMatch(new RegExp(`^.*${outputError}.*gatehouse key revoke ${id}\\.\\n$`));
  answerJson(201, newTenant);
  const lostTenant = await runHere([...createTenant(), "--json"], outputError);
  expect(lostTenant.code).toBe(1);
  expect(JSON.parse(lostTenant.errors).title).toMatch(new RegExp(`key ${id}.*gatehouse tenant delete ${otherId}`));
  expect(lostKey.errors + lostTenant.errors).not.toContain(newKey.key);
});
