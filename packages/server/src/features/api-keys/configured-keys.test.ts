/** The first tenant's key, set by configuration, may start like a generated one without having its checksum. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { generateToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { createDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { startTestServer, type TestServer } from "../../testing/test-server.ts";

const bootstrapApiKey = "gatehouse_key_chosen-by-whoever-configured-it";
let database: TestDatabase;
let server: TestServer;

beforeAll(async () => {
  database = await createDatabase();
  const first = await startTestServer({ connection: database.connection, bootstrapApiKey });
  await first.close();
  // A later start does not know the key any more.
  server = await startTestServer({ connection: database.connection });
});
afterAll(async () => {
  await server.close();
  await database.drop();
});

test("it is accepted, also once the configuration does not name it any more", async () => {
  expect((await server.client(bootstrapApiKey).get("/tenants/protocols")).status).toBe(200);
});

test("one that is known by nobody is told that its checksum does not match, after one question", async () => {
  const asked = vi.spyOn(server.database, "snapshot");
  const cutOff = server.client(generateToken(tokenPrefixes.apiKey).slice(0, -1));
  const replies = await Promise.all(Array.from({ length: 5 }, () => cutOff.get("/tenants/protocols")));
  for (const reply of replies) {
    expect(reply).toMatchObject({ status: 401, body: { code: "invalid_api_key" } });
    expect(reply.body.detail).toContain("checksum does not match");
    expect(reply.headers["www-authenticate"]).toBeTruthy();
  }
  expect(asked.mock.calls.filter(([{ kind }]) => kind === "presented-key")).toHaveLength(1);
});

test("a whole one that is unknown is not told why", async () => {
  const reply = await server.client(generateToken(tokenPrefixes.apiKey)).get("/tenants/protocols");
  expect(reply).toMatchObject({ status: 401, body: { code: "invalid_api_key" } });
  expect(reply.text).not.toContain("checksum");
});
