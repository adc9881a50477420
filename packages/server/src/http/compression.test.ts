import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { makeId } from "../testing/operations/test-records.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../testing/test-server.ts";
import { chooseEncoding } from "./compression.ts";

test.each([
  [undefined, undefined],
  ["identity", undefined],
  ["gzip, deflate, br", "br"],
  ["gzip;q=1.0, br;q=0", "gzip"],
  ["*", "br"],
  ["*;q=0", undefined],
  ["br;q=0.000, *", "gzip"],
  ["GZIP", "gzip"],
])("the encoding for Accept-Encoding %s is %s", (header, encoding) => {
  expect(chooseEncoding(header)).toBe(encoding);
});

describe("an answer", () => {
  let server: TestServer;
  let tenant: TestTenant;
  let withoutTokens: string;

  beforeAll(async () => {
    server = await sharedTestServer();
    tenant = await server.newTenant();
    for (let count = 0; count < 5; count += 1) await makeId("resource", tenant.client);
    withoutTokens = await tenant.keyWith("resources:read", "protocols:read", "gateways:read");
  });

  async function ask(path: string, accepted: string | undefined, key = withoutTokens) {
    const headers = { apikey: key, ...(accepted === undefined ? {} : { "accept-encoding": accepted }) };
    const { statusCode, headers: replied, rawPayload } = await server.app.inject({ method: "GET", url: path, headers });
    expect(statusCode).toBe(200);
    return { encoding: replied["content-encoding"], etag: replied.etag, vary: replied.vary, bytes: rawPayload };
  }

  test.each(["/tenants/resources", "/tenants/protocols"])(
    "of %s over 1 kB is compressed if the client accepts it",
    async (path) => {
      const plain = await ask(path, undefined);
      expect(plain.bytes.length).toBeGreaterThan(1_024);
      expect(plain.encoding).toBeUndefined();
      // The second time, cached answers send what was compressed before.
      for (const accepted of ["br", "gzip", "br", "gzip"]) {
        const { encoding, etag, vary, bytes } = await ask(path, accepted);
        expect({ encoding, etag, vary }).toEqual({ encoding: accepted, etag: plain.etag, vary: plain.vary });
        expect(bytes.length).toBeLessThan(plain.bytes.length);
        expect(accepted === "br" ? brotliDecompressSync(bytes) : gunzipSync(bytes)).toEqual(plain.bytes);
      }
      expect(plain.vary).toContain("Accept-Encoding");
    },
  );

  test("is not compressed if it is small, or if its caller sees tokens of gateways", async () => {
    expect((await ask("/tenants/resources?limit=1&filter[name]=none", "br")).encoding).toBeUndefined();
    expect((await ask("/tenants/resources", "br", tenant.key)).encoding).toBeUndefined();
  });
});
