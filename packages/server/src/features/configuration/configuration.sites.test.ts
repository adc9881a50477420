/** What gateways' sites need, in documents. */
import { beforeAll, beforeEach, expect, test } from "vitest";
import { type ConfigurationCalls, configurationCalls } from "../../testing/example-configuration.ts";
import { sharedTestServer, type TestServer } from "../../testing/test-server.ts";

let server: TestServer;
let calls: ConfigurationCalls;

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  calls = configurationCalls((await server.newTenant()).client);
});

const site = (name: string, more: object) => ({ name, wireguardPort: 51820, ...more });
const domains = [{ domain: "internal.example.com", resolvers: ["10.80.0.54"] }];

test("are exported as they were applied, and changed by name", async () => {
  const north = site("North", { resolvers: ["10.80.0.53"], domains, networks: ["10.80.0.0/16"], relayPort: 51901 });
  const gateways = [north, site("South", { networks: [] })];
  await calls.applied({ gateways });
  expect((await calls.exported()).gateways).toEqual(gateways);
  expect((await calls.plan({ gateways })).body.changes).toEqual([]);
  const plan = await calls.plan({ gateways: [site("North", {}), gateways[1]] });
  expect(plan.body.changes[0].fields).toEqual([
    { field: "resolvers", before: ["10.80.0.53"], after: [] },
    { field: "domains", before: domains, after: [] },
    { field: "networks", before: ["10.80.0.0/16"], after: null },
    { field: "relayPort", before: 51901, after: null },
  ]);
});

test("may move from one gateway to another, also to a new one from one that goes", async () => {
  const one = { networks: ["10.80.0.0/16"], relayPort: 51901 };
  const other = { networks: ["10.81.0.0/16"], relayPort: 51902 };
  await calls.applied({ gateways: [site("North", one), site("South", other)] });
  const swapped = [site("North", other), site("South", one)];
  await calls.applied({ gateways: swapped });
  expect((await calls.exported()).gateways).toEqual(swapped);
  const moved = [site("New", other), site("South", one)];
  await calls.applied({ gateways: moved });
  expect((await calls.exported()).gateways).toEqual(moved);
});

test("that two gateways cannot both have are refused, at the later one", async () => {
  const gateways = [
    site("North", { networks: ["10.80.7.0/24"], relayPort: 51901 }),
    site("South", { networks: ["fd80::/64", "10.80.0.0/16"], relayPort: 51901 }),
    site("West", { networks: ["10.1.2.3/8"] }),
  ];
  const { status, body } = await calls.apply({ gateways });
  expect(status).toBe(422);
  expect(body.errors).toEqual([
    { pointer: "/gateways/2/networks/0", message: expect.stringContaining("10.0.0.0/8") },
    {
      pointer: "/gateways/1/networks",
      message: '10.80.0.0/16 overlaps 10.80.7.0/24, which is behind the gateway "North"',
    },
    { pointer: "/gateways/1/relayPort", message: '51901 is the relay port of the gateway "North"' },
  ]);
});
