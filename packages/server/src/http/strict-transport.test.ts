import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { firstCertificate } from "../testing/certificates.ts";
import { startTestServer, type TestServer } from "../testing/test-server.ts";

const host = "gatehouse.example.com";
const year = "max-age=31536000";
const header = "strict-transport-security";

describe("behind a trusted proxy", () => {
  let server: TestServer;
  beforeAll(async () => {
    const settings = { trustedProxies: ["127.0.0.1"], publicUrl: () => `https://${host}`, strictTransportDays: 365 };
    server = await startTestServer({ settings });
  });
  afterAll(() => server.close());

  async function headerOf(url: string, headers: Readonly<Record<string, string>>): Promise<unknown> {
    return (await server.app.inject({ url, headers })).headers[header];
  }

  test.each(["/", "/console/", "/tenants/users", "/nothing", "/healthz", "/openapi.json", "/oauth/token"])(
    "browsers that reach the public address over TLS keep to it (%s)",
    async (url) => {
      expect(await headerOf(url, { host, "x-forwarded-proto": "https" })).toBe(year);
      expect(await headerOf(url, { host: `${host.toUpperCase()}:8443`, "x-forwarded-proto": "https" })).toBe(year);
    },
  );

  test("neither other hosts nor plain HTTP get the header", async () => {
    expect(await headerOf("/", { host, "x-forwarded-proto": "http" })).toBeUndefined();
    expect(await headerOf("/", { host })).toBeUndefined();
    for (const other of ["example.com", "a.gatehouse.example.com", "192.0.2.1", "localhost"]) {
      expect(await headerOf("/", { host: other, "x-forwarded-proto": "https" }), other).toBeUndefined();
    }
  });
});

test.each([
  ["https://localhost:8443", "localhost", 365, undefined],
  ["https://192.0.2.1", "192.0.2.1", 365, undefined],
  ["https://[2001:db8::1]", "[2001:db8::1]", 365, undefined],
  ["http://gatehouse.example.com", host, 365, undefined],
  ["https://gatehouse.example.com:8443", `${host}:8443`, 365, undefined],
  ["https://gatehouse.example.com:8443", `${host}:8443`, 0, undefined],
  ["https://gatehouse.example.com:443", host, 365, year],
  ["https://gatehouse.example.com", host, 0, "max-age=0"],
  ["https://gatehouse.example.com", host, 1, "max-age=86400"],
])("the public address %s as %s with %i days: %s", async (publicUrl, requested, days, expected) => {
  const settings = { trustedProxies: ["127.0.0.1"], publicUrl: () => publicUrl, strictTransportDays: days };
  const server = await startTestServer({ settings });
  const headers = { host: requested, "x-forwarded-proto": "https" };
  expect((await server.app.inject({ url: "/healthz", headers })).headers[header]).toBe(expected);
  await server.close();
});

test("a server with its own certificate sends the header, whatever the client says about its protocol", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gatehouse-test-"));
  const tls = { certFile: join(folder, "tls.crt"), keyFile: join(folder, "tls.key") };
  writeFileSync(tls.certFile, firstCertificate.cert);
  writeFileSync(tls.keyFile, firstCertificate.key);
  const settings = { tls, publicUrl: () => `https://${host}`, strictTransportDays: 365 };
  const server = await startTestServer({ settings });
  const { port } = new URL(await server.listen());
  const reply = await new Promise<unknown>((resolve, reject) => {
    const headers = { host, "x-forwarded-proto": "http" };
    const options = { host: "127.0.0.1", servername: "localhost", ca: firstCertificate.cert, agent: false };
    request({ ...options, port, path: "/healthz", headers }, (response) => {
      response.resume();
      resolve(response.headers[header]);
    })
      .once("error", reject)
      .end();
  });
  expect(reply).toBe(year);
  await server.close();
  rmSync(folder, { recursive: true });
});
