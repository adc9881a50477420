import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createLog } from "../../platform/log.ts";
import { startTestServer, type TestClient, type TestServer } from "../../testing/test-server.ts";

const path = "/tenants/configuration";

let server: TestServer;
let client: TestClient;

beforeAll(async () => {
  server = await startTestServer({ settings: { log: createLog("error") } });
});
afterAll(() => server.close());
beforeEach(async () => {
  ({ client } = await server.newTenant());
});

const exported = async () => (await client.get(path)).body;
const plan = (document: object) => client.post(`${path}/plan`, document);
const apply = (document: object, headers: Record<string, string> = {}) =>
  client.post(`${path}/apply`, document, headers);

describe("readConfiguration", () => {
  test("says of a new tenant what every tenant has, without what is built in", async () => {
    const { status, body, headers } = await client.get(path);
    expect(status).toBe(200);
    expect(headers.etag).toMatch(/^"\d+"$/);
    expect(body).toEqual({
      version: 1,
      groups: [
        {
          name: "Default",
          description: "Every user whom nobody put into another group.",
          roles: ["DEFAULT"],
          isSamlDefaultGroup: true,
        },
      ],
      users: [{ email: "owner@example.com" }],
      protocols: [],
      gateways: [],
      resources: [],
      admissionRules: [],
      policies: { PRIVATE: [], SAAS: [], INTERNET: [], SITETOSITE: [] },
      defaultInternetPolicy: {
        mode: "LOCAL",
        description: "What happens to internet traffic that no other policy decides.",
      },
    });
  });
});
describe("smoke", () => {
  test("x", async () => {
    const before = await exported();
    const r = await plan({ version: 1 });
    expect(r.body.changes).toEqual([]);
    const doc = {
      ...before,
      gateways: [{ name: "G", wireguardPort: 51820 }],
      resources: [
        {
          name: "R",
          type: "PRIVATE",
          gateways: ["G"],
          addresses: [{ address: "git.example.com", protocols: ["SSH"] }],
        },
      ],
    };
    console.log(JSON.stringify((await plan(doc)).body));
    const a = await apply(doc);
    console.log(a.status, a.text);
    expect(await exported()).toEqual(doc);
    expect((await apply(doc)).body.changes).toEqual([]);
  });
});
