import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../testing/test-server.ts";

const page = `<!doctype html><meta property="csp-nonce" nonce="__GATEHOUSE_NONCE__"><title>Console</title>`;

describe("a server with a built console", () => {
  let folder: string;
  let server: TestServer;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "gatehouse-console-"));
    await mkdir(path.join(folder, "assets"));
    await writeFile(path.join(folder, "index.html"), page);
    await writeFile(path.join(folder, "assets", "page-1a2b.js"), "plain");
    await writeFile(path.join(folder, "assets", "page-1a2b.js.br"), "squeezed");
    await writeFile(path.join(folder, "secret.txt"), "secret");
    server = await startTestServer({ settings: { consoleFolder: folder } });
  });
  afterAll(async () => {
    await server.close();
    await rm(folder, { recursive: true });
  });
  const get = (url: string, headers = {}) => server.app.inject({ url, headers });

  test.each(["/", "/console"])("redirects from %s to the console", async (url) => {
    const { statusCode, headers } = await get(url);
    expect({ statusCode, location: headers.location }).toEqual({ statusCode: 302, location: "/console/" });
    expect(headers["cache-control"]).toBe("no-store");
  });

  test.each(["/console/", "/console/users", "/console/users/01a1?tab=devices", "/console/session/x"])(
    "responds to %s with the page, which is not cached",
    async (url) => {
      const { statusCode, headers, body } = await get(url);
      expect(statusCode).toBe(200);
      expect(headers["cache-control"]).toBe("no-store");
      expect(body).toContain("<title>Console</title>");
    },
  );

  test("forbids the page other origins, inline scripts and framing", async () => {
    const [first, second] = [await get("/console/"), await get("/console/")];
    const policy = String(first.headers["content-security-policy"]);
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self' 'nonce-");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1];
    expect(first.body).toContain(`nonce="${nonce}"`);
    expect(second.headers["content-security-policy"]).not.toBe(policy);
  });

  test.each([
    ["/console/assets/%00", {}, 404],
    ["/console/assets/", {}, 404],
    ["/console/assets/toString", {}, 404],
  ])("refuses %s with %j without an internal error", async (url, headers, status) => {
    const reply = await get(url, headers);
    expect(reply.statusCode).toBe(status);
  });

  test("lets clients cache assets permanently, and compresses them for clients that support it", async () => {
    const plain = await get("/console/assets/page-1a2b.js");
    expect(plain.body).toBe("plain");
    expect(plain.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    const squeezed = await get("/console/assets/page-1a2b.js", { "accept-encoding": "gzip, br" });
    expect(squeezed.body).toBe("squeezed");
    expect(squeezed.headers).toMatchObject({
      "content-encoding": "br",
      vary: expect.stringMatching(/accept-encoding/i),
    });
    expect(squeezed.headers["content-type"]).toMatch("javascript");
  });

  test("reads an asset once, so that responses do not keep files open", async () => {
    await writeFile(path.join(folder, "assets", "once-3c.js"), "once");
    const own = await startTestServer({ settings: { consoleFolder: folder } });
    const read = async () => (await own.app.inject("/console/assets/once-3c.js")).body;
    expect(await read()).toBe("once");
    await rm(path.join(folder, "assets", "once-3c.js"));
    expect(await read()).toBe("once");
    await own.close();
  });

  test.each(["/console/assets/gone-9f.js", "/console/assets/../secret.txt", "/console/assets/%2e%2e/secret.txt"])(
    "serves no file for %s",
    async (url) => {
      const reply = await get(url);
      expect(reply.body).not.toContain("secret\n");
      expect(reply.body).not.toBe("secret");
      expect(reply.body).not.toBe("plain");
    },
  );

  test("returns 404, not to be cached, for an asset that was removed before it was read", async () => {
    const file = path.join(folder, "assets", "removed-4d.js");
    await writeFile(file, "removed");
    const own = await startTestServer({ settings: { consoleFolder: folder } });
    await rm(file);
    const { statusCode, headers } = await own.app.inject("/console/assets/removed-4d.js");
    expect(statusCode).toBe(404);
    expect(headers["cache-control"] ?? "").not.toContain("immutable");
    await own.close();
  });

  test("returns 404 for a missing asset", async () => {
    expect((await get("/console/assets/gone-9f.js")).statusCode).toBe(404);
  });
});

test("a server without a built console explains that", async () => {
  const server = await startTestServer();
  const { statusCode, body } = await server.app.inject("/console/");
  expect(statusCode).toBe(503);
  expect(body).toContain("The console is not built");
  expect(body).toContain("npm run build");
  await server.close();
});
