import { leadsTo, type SigningKeyHandover } from "@gatehouse/agent-protocol/link/signing-key-handover";
import { afterAll, beforeAll, expect, test } from "vitest";
import { publicKey } from "../../testing/operations/test-records.ts";
import { isSignedBy } from "../../testing/simulated-agent.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await startTestServer();
  tenant = await server.newTenant();
});
afterAll(() => server.close());

/** Records the hand-overs of its last welcome. */
class FollowingGateway extends SimulatedGateway {
  handovers: readonly SigningKeyHandover[] = [];
  offered: string | undefined;

  protected override received(message: Parameters<SimulatedGateway["received"]>[0]): void {
    if (message.type === "welcome") {
      this.handovers = message.handovers ?? [];
      this.offered = message.signingKey;
      const pinned = this.signingKey;
      if (pinned !== undefined && leadsTo(pinned, message.signingKey, this.handovers, isSignedBy)) {
        this.signingKey = message.signingKey;
      }
    }
    super.received(message);
  }
}

const rotate = async () => {
  const { status, body } = await tenant.client.post("/tenants/signing-key/rotate");
  expect(status).toBe(200);
  return String(body.publicKey);
};

test("connected agents are sent away and follow the new key, and offline agents follow all rotations", async () => {
  const made = await tenant.client.post("/tenants/gateways", { name: "Berlin", wireguardPort: "51820" });
  const url = await server.listen();
  const gateway = new FollowingGateway({
    url,
    gatewayId: made.body.id,
    token: made.body.token,
    publicKey: publicKey(),
  });
  await gateway.connect();
  await until("the gateway has a configuration", () => gateway.name !== undefined);
  const first = gateway.signingKey ?? "";
  expect(gateway.handovers).toEqual([]);

  const second = await rotate();
  await until("the gateway was sent away", () => gateway.goodbyes.length > 0);
  expect(gateway.goodbyes).toMatchObject([{ type: "goodbye", reason: "shutting_down" }]);
  const third = await rotate();

  // The outbox entry of the second rotation may send the gateway away once more.
  await until("the gateway was offered the new key", async () => {
    if (!gateway.isOpen) await gateway.connect();
    return gateway.offered === third;
  });
  expect(gateway.signingKey).toBe(third);
  expect(gateway.handovers.map(({ from, to }) => [from, to])).toEqual([
    [first, second],
    [second, third],
  ]);
  expect(leadsTo(third, first, gateway.handovers, isSignedBy)).toBe(false);

  // The new key signs configurations: the gateway verifies them with it.
  gateway.cut();
  gateway.name = undefined;
  await gateway.connect();
  await until("the gateway has applied a configuration", () => gateway.name !== undefined);
  gateway.cut();
  const events = await tenant.client.get("/tenants/events?filter[operation]=rotateSigningKey");
  expect(events.body.data).toMatchObject([
    { before: { publicKey: first }, after: { publicKey: second } },
    { before: { publicKey: second }, after: { publicKey: third } },
  ]);
});
