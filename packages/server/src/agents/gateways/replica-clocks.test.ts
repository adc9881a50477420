/** The check for silent gateways, by two replicas whose clocks differ. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { unique } from "../../testing/operations/test-records.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { createDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

const hourMs = 3_600_000;
/** The tests run due tasks by hand. */
const settings = { gatewayLinks: { watch: false, reconnectMs: 0, tickMs: hourMs, lifeMs: 24 * hourMs } };
/** A separate database: the advanced clock would make gateways of other tests silent. */
let own: TestDatabase;
let clock: TestClock;

beforeAll(async () => {
  own = await createDatabase();
});
afterAll(() => own.drop());

describe.each([30_000, 90_000])("one clock is ahead by %i ms", (aheadMs) => {
  describe.each([
    ["correct", 0],
    ["ahead", 1],
  ])("a gateway at the replica whose clock is %s", (_, index) => {
    let servers: readonly TestServer[];
    let tenant: TestTenant;
    let id: string;
    let gateway: SimulatedGateway;

    beforeEach(async () => {
      clock = new TestClock();
      const connection = own.connection;
      servers = [
        await startTestServer({ clock, settings, connection }),
        await startTestServer({ clock: clock.ahead(aheadMs), settings, connection }),
      ];
      tenant = (await servers[0]?.newTenant()) ?? expect.fail("no server");
      const made = await tenant.client.must.post("/tenants/gateways", {
        name: unique("Gateway"),
        wireguardPort: "51820",
      });
      id = made.body.id;
      const url = await server().listen();
      gateway = new SimulatedGateway({ url, gatewayId: id, token: made.body.token, now: () => clock.now().getTime() });
      await gateway.connect();
      await until("it is ONLINE", async () => (await read("")).status === "ONLINE");
      await beat();
    });
    afterEach(async () => {
      gateway.cut();
      await Promise.all(servers.map((each) => each.close()));
    });

    const server = () => servers[index] ?? expect.fail("no server");
    const read = async (path: string) => (await tenant.client.must.get(`/tenants/gateways/${id}${path}`)).body;

    async function beat(): Promise<void> {
      const { length } = gateway.answers;
      gateway.heartbeat();
      await until("it is answered", () => gateway.answers.length > length);
      await server().links.flush();
    }

    async function check(): Promise<void> {
      for (const each of servers) await each.links.detectSilence();
    }

    /** The entries that changed the status. */
    async function reports(): Promise<number> {
      const { body } = await tenant.client.must.get(`/tenants/events?filter[target.id]=${id}&limit=100`);
      return body.data.filter(({ operation }: { operation: string }) => operation === "reportGatewayState").length;
    }

    test("stays ONLINE on both replicas while it sends heartbeats, and becomes OFFLINE 30 seconds after the last one", async () => {
      const before = await reports();
      for (let sent = 0; sent < 5; sent += 1) {
        clock.advance(10_000);
        await check();
        await beat();
        await check();
        expect(await read("")).toMatchObject({ status: "ONLINE", lastOnline: clock.now().toISOString() });
      }
      clock.advance(30_000);
      await check();
      expect(await reports()).toBe(before);
      clock.advance(1);
      await check();
      expect((await read("")).status).toBe("OFFLINE");
      expect(await reports()).toBe(before + 1);
    });

    test("is reachable, connected, and ONLINE after maintenance on both replicas", async () => {
      for (const each of servers) {
        const client = each.client(tenant.key);
        const tested = await client.must.post(`/tenants/gateways/${id}/test-configuration`);
        expect(tested.body.status).toBe("ONLINE");
        await client.must.post(`/tenants/gateways/${id}/enter-maintenance`);
        await client.must.post(`/tenants/gateways/${id}/exit-maintenance`);
        expect((await read("")).status).toBe("ONLINE");
        await until("its content is applied", async () => {
          const sync = await client.must.get(`/tenants/gateways/${id}/sync`);
          expect(["applied", "sent", "pending"]).toContain(sync.body.state);
          return sync.body.state === "applied";
        });
      }
    });
  });
});
