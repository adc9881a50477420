/** Servers whose public URL is not the address that the user gave. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runHere } from "../testing/run-here.ts";

let root: string;
let server: Server;
let url: string;
/** The public URL of the server. */
let issuer: string;

async function listening(created: Server): Promise<number> {
  await new Promise<void>((resolve) => void created.listen(0, "127.0.0.1", resolve));
  return (created.address() as AddressInfo).port; // listens on TCP
}

const closed = (created: Server) => new Promise((resolve) => void created.close(resolve));

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "gatehouse-test-"));
  await writeFile(join(root, "key"), `gatehouse_enrolkey_${"0".repeat(49)}`);
  server = createServer((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ issuer }));
  });
  url = `http://127.0.0.1:${await listening(server)}`;
});
afterAll(async () => {
  await closed(server);
  await rm(root, { recursive: true, force: true });
});

const enrol = (...more: readonly string[]) =>
  runHere(["device", "enrol", "--url", url, "--state-folder", join(root, "device"), "--hardware-id", "HW", ...more]);

async function unreachableUrl(): Promise<string> {
  const unused = createServer();
  const port = await listening(unused);
  await closed(unused);
  return `http://localhost:${port}`;
}

test.each([
  ["with an enrolment key", () => enrol("--key-file", join(root, "key"))],
  ["by sign-in", () => enrol()],
  ["on the command line", () => runHere(["login", "--url", url, "--no-browser"])],
])("names a public URL that cannot be reached, and why it was used: %s", async (_, run) => {
  issuer = await unreachableUrl();
  const { code, errors } = await run();
  expect(code).toBe(1);
  expect(errors).toContain(`Cannot reach ${issuer}, the public URL of the server at ${url}: `);
  expect(errors).toContain("ECONNREFUSED");
  expect(errors).toContain("Set GATEHOUSE_PUBLIC_URL on the server to an address that this machine can reach");
});

test("names an address that the user gave and that cannot be reached, with the cause", async () => {
  const missing = await unreachableUrl();
  const { errors } = await runHere(["login", "--url", missing, "--no-browser"]);
  expect(errors).toContain(`Cannot sign in at ${missing}: `);
  expect(errors).toContain("ECONNREFUSED");
});

test("an enrolment key is not sent without TLS, and the reason is given", async () => {
  issuer = "http://gatehouse.example.com:8080";
  const { code, errors } = await enrol("--key-file", join(root, "key"));
  expect(code).toBe(1);
  expect(errors).toContain(`${issuer}, the public URL of the server, has no TLS.`);
  expect(errors).toContain("read the enrolment key or the device's token");
  expect(errors).toContain("set GATEHOUSE_PUBLIC_URL to its https address");
  expect(errors).toContain("--user and an API key");
});
