import { errorCodes } from "@gatehouse/contract/errors";
import { beforeAll, describe, expect, test } from "vitest";
import { sharedTestServer, type TestServer } from "../testing/test-server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await sharedTestServer();
});

const fetched = (url: string) => server.app.inject({ url });

/** Addresses that a page or style sheet loads by itself. */
function loadedBy(text: string): string[] {
  const inMarkup = [...text.matchAll(/<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)="([^"]*)"/g)];
  const inStyles = [...text.matchAll(/(?:url\(\s*["']?|@import\s+["'])([^"')]+)/g)];
  return [...inMarkup, ...inStyles].map(([, address = ""]) => address);
}

describe("/docs", () => {
  test("loads everything it shows from this server", async () => {
    const page = await fetched("/docs");
    expect(page).toMatchObject({ statusCode: 200, headers: { "content-type": "text/html; charset=utf-8" } });
    const addresses = loadedBy(page.body);
    expect(addresses).toContain("/docs/swagger-ui-bundle.js");
    for (const address of addresses) {
      expect(address).toMatch(/^\/docs\/[\w.-]+$/);
      const part = await fetched(address);
      expect(part.statusCode, address).toBe(200);
      expect(part.headers["content-type"], address).toMatch(/^(text\/(css|javascript)|image\/png)/);
      if (address.endsWith(".css")) {
        expect(loadedBy(part.body).filter((below) => !below.startsWith("data:"))).toEqual([]);
      }
    }
    const start = await fetched("/docs/start.js");
    expect(start.body).toContain('url: "/openapi.json"');
    expect(start.body).toContain("validatorUrl: null");
    expect(start.body).not.toMatch(/https?:/);
  });

  test("may not load anything from elsewhere, run inline scripts or be framed", async () => {
    const policy = String((await fetched("/docs")).headers["content-security-policy"]);
    const directives = new Map(policy.split("; ").map((text) => [text.split(" ")[0], text.split(" ").slice(1)]));
    for (const [name, sources] of directives) {
      for (const source of sources) {
        expect(["'self'", "'none'", "data:", "'unsafe-inline'"], `${name} ${source}`).toContain(source);
      }
    }
    expect(directives.get("default-src")).toEqual(["'none'"]);
    expect(directives.get("script-src")).toEqual(["'self'"]);
    expect(directives.get("frame-ancestors")).toEqual(["'none'"]);
  });

  test.each(["/docs/package.json", "/docs/..%2fpackage.json", "/docs/constructor", "/docs/swagger-ui.js"])(
    "serves no other file of the package: %s",
    async (address) => {
      expect((await fetched(address)).statusCode).toBe(404);
    },
  );
});

describe("/errors", () => {
  test.each(errorCodes)("explains %s at the address that problems name", async (code) => {
    const page = await fetched(`/errors/${code}`);
    expect(page.statusCode).toBe(200);
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
    expect(page.body).toContain(code);
    expect(loadedBy(page.body)).toEqual([]);
    expect((await fetched("/errors")).body).toContain(`/errors/${code}`);
  });

  test("answers 404 for a code that there is not", async () => {
    expect((await fetched("/errors/no_such_code")).statusCode).toBe(404);
  });
});
