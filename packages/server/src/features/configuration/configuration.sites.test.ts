/** Site settings of gateways, and limits of answers for names, in documents. */
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

test("can move from one gateway to another, including from a deleted to a new one", async () => {
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

test("refuses conflicts between two gateways, at the later one", async () => {
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

test("limits of answers are exported as they were applied, changed and removed", async () => {
  const named = (answersWithin?: readonly string[]) => [
    {
      name: "Git",
      type: "PRIVATE",
      addresses: [{ address: "git.example.com", protocols: ["SSH"], ...(answersWithin && { answersWithin }) }],
    },
  ];
  const limited = named(["10.0.0.0/8", "fd00::/8"]);
  await calls.applied({ resources: limited });
  expect((await calls.exported()).resources).toEqual(limited);
  expect((await calls.plan({ resources: named(["FD00::/8", "10.0.0.0/8"]) })).body.changes).toEqual([]);
  const plan = await calls.plan({ resources: named() });
  const [added, removed] = [named()[0]?.addresses, limited[0]?.addresses];
  expect(plan.body.changes[0].fields).toEqual([{ field: "addresses", added, removed }]);
  await calls.applied({ resources: named(["10.1.0.0/16"]) });
  expect((await calls.exported()).resources).toEqual(named(["10.1.0.0/16"]));
  await calls.applied({ resources: named() });
  expect((await calls.exported()).resources).toEqual(named());
});

test("refuses limits of answers for what is not a private name, at each of them", async () => {
  const addresses = [
    { address: "git.example.com", answersWithin: ["10.0.0.7/24", "10.0.0.0/8"] },
    { address: "10.0.0.1", answersWithin: ["10.0.0.0/8"] },
  ];
  const saas = [{ address: "crm.example.com", answersWithin: ["10.0.0.0/8"] }];
  const { status, body } = await calls.apply({
    resources: [
      { name: "Private", type: "PRIVATE", addresses },
      { name: "SaaS", type: "SAAS", addresses: saas },
    ],
  });
  expect(status).toBe(422);
  expect(body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
    "/resources/0/addresses/0/answersWithin/0",
    "/resources/0/addresses/1/answersWithin",
    "/resources/1/addresses/0/answersWithin",
  ]);
});
