/** Traffic when a gateway is switched off, becomes silent, or enters maintenance. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unservedKey } from "../../packages/device/src/tunnel/unserved-peer.ts";
import { until } from "../../packages/server/src/testing/until.ts";
import type { Administrator } from "./administrator.ts";
import type { NetworkDevice } from "./network-device.ts";
import { buildMs, type NetworkGateway, NetworkWorld, networkObstacle, replicaAddress } from "./network-world.ts";
import { app } from "./targets.ts";
import { Download, expectCut, via } from "./traffic.ts";

const why = networkObstacle();
if (why !== undefined) console.warn(`Failover is not tested on real packets: ${why}.`);

/**
 * Devices switch within 5 s of their gateway's status (contract). The limit here is longer, because other tests load
 * the machine.
 */
const failoverMs = 15_000;
/** A gateway becomes OFFLINE 30 s after its last message. */
const offlineMs = 60_000;
const drainSeconds = 20;

describe.skipIf(why !== undefined)("a network whose gateways fail", () => {
  const world = new NetworkWorld();
  let administrator: Administrator;
  let first: NetworkGateway;
  let second: NetworkGateway;
  let ann: NetworkDevice;
  let bob: NetworkDevice;

  beforeAll(async () => {
    await world.build({ GATEHOUSE_GATEWAY_DRAIN_SECONDS: String(drainSeconds) });
    administrator = world.administrator;
    [first, second] = world.gateways as [NetworkGateway, NetworkGateway];
    [ann, bob] = world.devices as [NetworkDevice, NetworkDevice, NetworkDevice];
    await expectThrough(first);
  }, buildMs);
  afterAll(() => world.remove());

  const hasStatus = (gateway: NetworkGateway, status: string, timeoutMs: number) =>
    until(`a gateway is ${status}`, async () => (await administrator.gateway(gateway.id)).status === status, timeoutMs);

  /** Expects new connections of these devices, over IPv4 and IPv6, to use that gateway. */
  async function expectThrough(gateway: NetworkGateway, devices = [ann, bob]) {
    const ways = devices.flatMap((device) => (["ipv4", "ipv6"] as const).map((family) => ({ device, family })));
    await Promise.all(
      ways.map(({ device, family }) =>
        until(
          "a device goes through another gateway",
          async () => (await via(device, app[family])) === gateway.site[family],
          failoverMs,
        ),
      ),
    );
  }

  test("uses the second gateway after a power failure of the first one, and returns to the first", async () => {
    await first.agent.kill();
    for (const link of ["wide", "site"]) first.namespace.run("ip", ["link", "set", link, "down"]);
    expect(await via(ann, app.ipv4)).toBe(null);
    await hasStatus(first, "OFFLINE", offlineMs);
    await expectThrough(second);
    world.reconnect(first);
    first.agent.start();
    await hasStatus(first, "ONLINE", offlineMs);
    await expectThrough(first);
  });

  test("uses the second gateway while the first one is silent, though the first one still enforces", async () => {
    const running = await Download.begin(ann, app.ipv4);
    first.namespace.run("nft", ["-f", "-"], silence(replicaAddress(1)));
    await hasStatus(first, "OFFLINE", offlineMs);
    await expectThrough(second);
    await running.goesOn();
    first.namespace.run("nft", ["delete", "table", "inet", "silence"]);
    await hasStatus(first, "ONLINE", offlineMs);
    await expectThrough(first);
    await running.goesOn();
    await running.end();
  });

  test("in maintenance lets connections finish, accepts no new ones, and stops after the drain time", async () => {
    const file = await Download.begin(bob, app.ipv4, 4 * 50);
    const endless = await Download.begin(bob, app.ipv6);
    await Promise.all([file.goesOn(), endless.goesOn()]);
    // His device is not notified, like a device with a file for wg-quick.
    bob.agent.pause();
    const began = Date.now();
    await administrator.enforce("POST", `/tenants/gateways/${first.id}/enter-maintenance`);
    expect(await via(bob, app.ipv4)).toBe(null);
    await expectThrough(second, [ann]);
    await until("the download is finished", async () => (await file.progress()).isWhole);
    expect((await file.progress()).via).toBe(first.site.ipv4);
    await endless.goesOn();
    expect(Date.now()).toBeLessThan(began + drainSeconds * 1_000);
    const hers = await Download.begin(ann, app.ipv4);
    await until("the drain time is over", () => Date.now() > began + drainSeconds * 1_000, drainSeconds * 1_000);
    await expectCut(endless, hers);
    bob.agent.resume();
    await expectThrough(second, [bob]);
    await administrator.enforce("POST", `/tenants/gateways/${first.id}/exit-maintenance`);
    await expectThrough(first);
    await Promise.all([endless.end(), hers.end()]);
  });

  test("in maintenance lets a connected device's connections finish, and new ones use another gateway", async () => {
    const file = await Download.begin(ann, app.ipv4, 8 * 50);
    await file.goesOn();
    try {
      await administrator.enforce("POST", `/tenants/gateways/${first.id}/enter-maintenance`);
      await expectThrough(second);
      expect((await file.progress()).isWhole).toBe(false);
      await until("the download is finished", async () => (await file.progress()).isWhole, drainSeconds * 1_000);
      expect((await file.progress()).via).toBe(first.site.ipv4);
    } finally {
      await administrator.enforce("POST", `/tenants/gateways/${first.id}/exit-maintenance`);
    }
    await expectThrough(first);
  });

  test("without a gateway, blocks the addresses instead of sending packets to the local network", async () => {
    const port = 9300;
    const reachesNeighbour = () => ann.prober.ask("tcp", { host: app.ipv4, port });
    const { namespace, prober } = await world.addMachine("neighbour", 77);
    namespace.run("ip", ["address", "add", `${app.ipv4}/24`, "dev", "wide"]);
    await prober.ask("echo", { port, hosts: [app.ipv4] });
    ann.namespace.run("ip", ["route", "add", `${app.ipv4}/32`, "dev", "wide"]);
    await Promise.all([first, second].map(({ agent }) => agent.kill()));
    await Promise.all([first, second].map((gateway) => hasStatus(gateway, "OFFLINE", offlineMs)));
    const routes = () => ann.namespace.run("wg", ["show", ann.interfaceName, "allowed-ips"]);
    const isBlocked = () => {
      const [peer = "", ...others] = routes().trim().split("\n");
      return others.length === 0 && peer.startsWith(unservedKey) && peer.includes(`${app.ipv4}/32`);
    };
    await until("only unserved addresses have a peer", isBlocked, failoverMs);
    expect(await reachesNeighbour()).toBe(false);
    // Without the agent, the same connection reaches the neighbour.
    bob.namespace.run("ip", ["route", "add", `${app.ipv4}/32`, "dev", "wide", "table", "1"]);
    bob.namespace.run("ip", ["rule", "add", "priority", "1", "lookup", "1"]);
    expect(await bob.prober.ask("tcp", { host: app.ipv4, port })).toBe(true);
    for (const { agent } of [first, second]) agent.start();
    await Promise.all([first, second].map((gateway) => hasStatus(gateway, "ONLINE", offlineMs)));
    await expectThrough(first, [ann]);
    expect(await reachesNeighbour()).toBe(false);
  });
});

/** Returns rules that silently drop the packets between this machine and TCP port 8080 of that address. */
function silence(address: string): string {
  return `table inet silence {
    chain out { type filter hook output priority 0; ip daddr ${address} tcp dport 8080 drop; }
    chain in { type filter hook input priority 0; ip saddr ${address} tcp sport 8080 drop; }
  }`;
}
