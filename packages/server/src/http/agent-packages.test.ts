import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify } from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sharedTestServer, startTestServer, type TestServer } from "../testing/test-server.ts";
import { mountAgentPackages } from "./agent-packages.ts";

const key = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nabcd\n-----END PGP PUBLIC KEY BLOCK-----\n";

/** Runs a script as `curl … | sh` does. */
const run = (script: string, ...args: readonly string[]) =>
  spawnSync("sh", ["-s", "--", ...args], { input: script, encoding: "utf8", env: { PATH: process.env.PATH } });

describe("a server with the packages of agents", () => {
  let folder: string;
  let server: TestServer;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "gatehouse-agents-"));
    await mkdir(path.join(folder, "dists/stable"), { recursive: true });
    await mkdir(path.join(folder, "pool/main"), { recursive: true });
    await writeFile(path.join(folder, "gatehouse.asc"), key);
    await writeFile(path.join(folder, "dists/stable/InRelease"), "Suite: stable\nArchitectures: riscv64 s390x\n");
    await writeFile(path.join(folder, "pool/main/agent.deb"), "package");
    await writeFile(path.join(folder, "other.txt"), "other");
    await writeFile(path.join(folder, "..", `${path.basename(folder)}-outside`), "outside");
    server = await startTestServer({ settings: { agentsFolder: folder } });
  });
  afterAll(async () => {
    await server.close();
    await rm(`${folder}-outside`);
    await rm(folder, { recursive: true });
  });
  const get = (url: string, headers = {}) => server.app.inject({ url, headers });

  test("serves the repository, which clients check before each use", async () => {
    const { statusCode, headers, body } = await get("/apt/pool/main/agent.deb");
    expect({ statusCode, body }).toEqual({ statusCode: 200, body: "package" });
    expect(headers["cache-control"]).toBe("no-cache");
    const again = await get("/apt/pool/main/agent.deb", { "if-modified-since": headers["last-modified"] });
    expect(again.statusCode).toBe(304);
    const part = await get("/apt/pool/main/agent.deb", { range: "bytes=4-" });
    expect({ statusCode: part.statusCode, body: part.body }).toEqual({ statusCode: 206, body: "age" });
  });

  test("an address that reads nothing cannot keep many files open over HTTP/2", async () => {
    const app = fastify({ http2: true });
    app.decorateRequest("observed", true);
    mountAgentPackages(app as never, { folder, publicUrl: () => "http://localhost" });
    await app.listen({ port: 0, host: "127.0.0.1" });
    const { port } = app.server.address() as AddressInfo; // of a server that listens on TCP
    const session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } });
    const statusOf = async () => {
      const [headers] = await once(session.request({ ":path": "/apt/pool/main/agent.deb" }), "response");
      return headers[":status"];
    };
    const statuses = await Promise.all(Array.from({ length: 40 }, statusOf));
    expect(statuses.filter((status) => status === 200)).toHaveLength(32);
    expect(statuses.filter((status) => status !== 200)).toHaveLength(8);
    session.destroy();
    await app.close();
  });

  test("the console learns that the server has packages", async () => {
    expect(JSON.parse((await get("/console/sign-in")).body)).toMatchObject({
      hasAgentPackages: true,
      sendsMail: false,
    });
  });

  test.each(["/apt/", "/apt/pool", "/apt/pool/main/none.deb", "/apt/other.txt"])("has nothing at %s", async (url) => {
    const { statusCode, body } = await get(url);
    expect(statusCode).toBe(404);
    expect(JSON.parse(body)).toMatchObject({ code: "no_such_operation" });
  });

  test.each(["../", "%2e%2e/", "..%2f", "pool/..%2f..%2f"])("serves nothing outside the folder: %s", async (up) => {
    const { statusCode, body } = await get(`/apt/${up}${path.basename(folder)}-outside`);
    expect(statusCode).not.toBe(200);
    expect(body).not.toBe("outside");
  });

  test.each(["gateway", "device"])(
    "the %s script has the key and the public address, even if a caller sends another",
    async (name) => {
      const { statusCode, headers, body } = await get(`/install/${name}`, { host: "attacker.example.com" });
      expect(statusCode).toBe(200);
      expect(headers["content-type"]).toBe("text/x-shellscript; charset=utf-8");
      expect(body).toContain(key);
      expect(body).toContain("url='http://localhost:8080'");
      expect(body).not.toContain("attacker");
      expect(body).toMatch(/^[\n\x20-\x7e]*$/);
    },
  );

  test.each(["gateway", "device"])(
    "the %s script installs no kernel, which wireguard-tools recommends",
    async (name) => {
      const { body } = await get(`/install/${name}`);
      expect(body).toMatch(/^ {2}apt-get install .*--no-install-recommends .*gatehouse-/m);
    },
  );

  test.each(["gateway", "device"])("the %s script does nothing if only a part arrives", async (name) => {
    const { body } = await get(`/install/${name}`);
    const { stdout, stderr, status } = run(body.slice(0, body.lastIndexOf("main")));
    expect({ stdout, stderr, status }).toEqual({ stdout: "", stderr: "", status: 0 });
  });

  test("the scripts explain themselves, and refuse unknown options and architectures", async () => {
    const { body } = await get("/install/gateway");
    expect(run(body, "--help").stdout).toContain("curl -fsS http://localhost:8080/install/gateway | sudo sh -s --");
    expect(run(body, "--force")).toMatchObject({ status: 1, stderr: "The option --force is unknown. Use --help.\n" });
    expect(run(body, "--token-file")).toMatchObject({ status: 1, stderr: "--token-file needs a file.\n" });
    // The refused machine is any that Debian's tools run on; the repository has other architectures.
    const refused = run(body);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toMatch(/for riscv64 and s390x, not for|apt-get is missing|Run the script as root/);
  });
});

test.each(["gateway", "device"])("without packages, the %s script fails with the reason", async (name) => {
  const { app } = await sharedTestServer();
  const { body } = await app.inject({ url: `/install/${name}` });
  expect(run(body)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("Install the package gatehouse-agents"),
  });
  expect((await app.inject({ url: "/apt/gatehouse.asc" })).statusCode).toBe(404);
  expect((await app.inject({ url: "/console/sign-in" })).json()).toMatchObject({ hasAgentPackages: false });
});
