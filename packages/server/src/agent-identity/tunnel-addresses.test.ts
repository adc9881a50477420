import { isIP } from "node:net";
import { parseIpAddress } from "@gatehouse/addresses/ip-address";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { unprepared } from "../platform/db/statement.ts";
import { make, makeId } from "../testing/operations/test-records.ts";
import { startTestServer, type TestServer, type TestTenant } from "../testing/test-server.ts";
import { giveTunnelAddresses, type LinkRows, readLinkRows } from "./link-facts.queries.ts";
import { tunnelAddresses, tunnelPools } from "./tunnel-addresses.ts";

test.each([
  [1, "100.64.0.1", "fd00:1:203::1"],
  [256, "100.64.1.0", "fd00:1:203::100"],
  [4_194_302, "100.127.255.254", "fd00:1:203::3f:fffe"],
])("the number %i is %s and %s", (number, ipv4, ipv6) => {
  expect(tunnelAddresses("fd00000102030000", number)).toEqual({ ipv4, ipv6 });
});

test("the pools contain every tunnel address", () => {
  expect(tunnelPools("fd00000102030000")).toEqual(["100.64.0.0/10", "fd00:1:203::/64"]);
});

describe("tunnel addresses", () => {
  let server: TestServer;
  let tenant: TestTenant;
  const inside = () => ({ kind: "tenant", tenantId: tenant.id }) as const;
  const rows = (): Promise<LinkRows> =>
    server.database.snapshot(inside(), ({ query }) => readLinkRows({ tenantId: tenant.id, query }));
  const numberOf = async (id: string) => {
    const { devices, gateways } = await rows();
    return [...devices, ...gateways].find((row) => row.id === id)?.number;
  };
  const run = <Row>(text: string) =>
    server.database.transaction(inside(), (transaction) => transaction.query(unprepared<Row, []>(text)));
  const give = () =>
    server.database.transaction(inside(), ({ query }) => giveTunnelAddresses({ tenantId: tenant.id, query }));

  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    tenant = await server.newTenant();
  });

  test("are assigned to enrolled devices and created gateways, each a different one", async () => {
    const ids = [await makeId("device", tenant.client), await makeId("gateway", tenant.client)];
    ids.push((await make("device", tenant.client)).id);
    const numbers = await Promise.all(ids.map(numberOf));
    expect(numbers).toEqual([1, 2, 3]);
  });

  test("have a prefix that is unique to the tenant", async () => {
    await makeId("gateway", tenant.client);
    const { prefix = "" } = await rows();
    expect(prefix).toMatch(/^fd[0-9a-f]{10}0000$/);
    expect(isIP(tunnelAddresses(prefix, 1).ipv6)).toBe(6);
    expect(parseIpAddress(tunnelAddresses(prefix, 1).ipv6)?.bits).toBe((BigInt(`0x${prefix}`) << 64n) + 1n);
    const other = await server.newTenant();
    await makeId("gateway", other.client);
    tenant = other;
    expect((await rows()).prefix).not.toBe(prefix);
  });

  test("are released with the record, and not assigned again soon", async () => {
    const first = await makeId("device", tenant.client);
    expect((await tenant.client.delete(`/tenants/devices/${first}`)).status).toBe(204);
    expect(await rows()).toMatchObject({ devices: [] });
    const second = await makeId("device", tenant.client);
    expect(await numberOf(second)).toBe(2);
  });

  test("start again from the first free number after the last one", async () => {
    const kept = await makeId("gateway", tenant.client);
    await run("UPDATE tunnel_networks SET next_number = 4194302");
    const [last, next] = [await makeId("gateway", tenant.client), await makeId("gateway", tenant.client)];
    expect(await Promise.all([kept, last, next].map(numberOf))).toEqual([1, 4_194_302, 2]);
  });

  test("are assigned once to records without an address", async () => {
    const ids = [await makeId("device", tenant.client), await makeId("gateway", tenant.client)];
    await run("DELETE FROM tunnel_addresses");
    expect(await rows()).toMatchObject({ devices: [], gateways: [] });
    expect((await Promise.all([give(), give()])).sort()).toEqual([0, 2]);
    expect((await Promise.all(ids.map(numberOf))).every((number) => number !== undefined)).toBe(true);
  });

  test("differ when many are assigned at the same time", async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, () => makeId("gateway", tenant.client)));
    const { gateways } = await rows();
    expect(new Set(gateways.map(({ number }) => number)).size).toBe(ids.length);
  });
});
