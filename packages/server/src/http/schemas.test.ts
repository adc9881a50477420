import { configurationSchemaPath } from "@gatehouse/contract/configuration-schema";
import { beforeAll, expect, test } from "vitest";
import { sharedTestServer, type TestServer } from "../testing/test-server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await sharedTestServer();
});

test("the schema of configurations is served to editors, without a key", async () => {
  const { statusCode, headers, body } = await server.app.inject({ url: configurationSchemaPath });
  expect(statusCode).toBe(200);
  expect(headers["content-type"]).toMatch("application/schema+json");
  expect(headers["access-control-allow-origin"]).toBe("*");
  expect(JSON.parse(body)).toMatchObject({ title: "Gatehouse configuration", type: "object", required: ["version"] });
});
