/**
 * A device in a hostile network that has the addresses of a resource, and answers its names:
 *
 *     device ── public ─┬─ 10.80.0.11, 10.80.0.12, and the network's resolver 192.0.2.53
 *                       └─ gateways one and two ── 10.80.0.11, 10.80.0.12
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { askStatus } from "../../packages/device/src/status/ask-agent.ts";
import { until } from "../../packages/server/src/testing/until.ts";
import { DeviceWorld, type FarGateway, localAddresses, ports, site } from "./device-world.ts";
import { type Namespace, obstacle, Prober } from "./namespaces.ts";

const why = obstacle();
if (why !== undefined) console.warn(`Unserved addresses are not tested on real packets: ${why}.`);

const app = `${site.app}/32`;
const name = "files.internal.example.com";
const hostile = "203.0.113.66";
/** A name outside the configuration. */
const outside = "www.example.net";
/** A port that only the hostile network serves. */
const hostilePort = 9300;

describe.skipIf(why !== undefined)("a device whose gateway goes out of service in a hostile network", () => {
  const world = new DeviceWorld();
  let two: FarGateway;
  let network: Namespace;

  beforeAll(async () => {
    await world.build();
    [, two] = world.gateways as [FarGateway, FarGateway];
    world.namespaces.setResolvers(world.machine, [localAddresses.resolver]);
    network = world.namespaces.add("network");
    const hosts = Object.values(site);
    const addresses = [localAddresses.resolver, ...hosts].map((host) => `${host}/24`);
    world.namespaces.connect(network, world.network, "wide", addresses);
    world.machine.run("ip", ["route", "add", "10.80.0.0/24", "dev", "wide"]);
    // Only the hostile network responds to ARP requests for the addresses of the resource.
    for (const { namespace } of world.gateways) {
      namespace.run("sh", ["-c", "echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore"]);
    }
    network.run("nft", ["-f", "-"], counters);
    const prober = new Prober(network);
    await prober.ready;
    await prober.ask("echo", { port: hostilePort, hosts: [localAddresses.resolver, ...hosts] });
    const records = { [name]: { A: [hostile] }, [outside]: { A: [hostile] } };
    await prober.ask("serveNames", { host: localAddresses.resolver, records });
    await world.startControlPlane();
    world.startAgent();
    await world.linked();
  });
  afterAll(() => world.remove());

  async function use(...given: Parameters<DeviceWorld["content"]>): Promise<void> {
    expect(await world.configure(world.content(...given)), world.log).toMatchObject({ type: "applied" });
  }
  const inService = () => use([{ allowedIps: [app], names: [name] }, {}]);
  const unserved = { addresses: [app], names: [name] };
  const outOfService = () => use([{ gateway: two.id }], { unserved });
  const resolve = (asked = name) =>
    world.prober.ask<unknown>("resolve", { server: "127.0.0.153", name: asked, type: "A" });
  const reachesNetwork = (host: string) => world.prober.ask("tcp", { host, port: hostilePort });
  /** The number of packets for the resource, and of DNS questions, that the hostile network received. */
  const received = () =>
    [...network.run("nft", ["list", "table", "inet", "seen"]).matchAll(/packets (\d+)/g)].map(([, digits]) =>
      Number(digits),
    );

  test("the network receives packets and questions as long as nothing is configured", async () => {
    await until("the network is reached", async () => (await reachesNetwork(site.app)) === true);
    expect(await resolve()).toEqual([hostile]);
    expect(Math.min(...received())).toBeGreaterThan(0);
  });

  test("neither packets nor questions reach the network during an outage, and traffic flows after it", async () => {
    await inService();
    expect(await world.carriers()).toEqual(["one"]);
    expect(await resolve()).toEqual([site.files]);
    expect(await world.carriers(site.files)).toEqual(["one"]);
    const before = received();
    await outOfService();
    expect(await resolve()).toBe("ENODATA");
    // The device also blocks the last known address of the name.
    for (const host of [site.app, site.files]) {
      expect(await reachesNetwork(host)).toBe(false);
      expect(await world.carriers(host)).toEqual([]);
    }
    expect(received()).toEqual(before);
    const status = await askStatus(world.stateFolder);
    expect(status).toMatchObject({ answer: { unserved, reachable: { addresses: [], names: [] } } });
    await inService();
    expect(await world.carriers()).toEqual(["one"]);
    expect(await resolve()).toEqual([site.files]);
    expect(received()).toEqual(before);
  });

  test("even if no gateway at all is in service, or another one carries all internet traffic", async () => {
    for (const configuration of [
      world.content([], { unserved }),
      world.content([{ gateway: two.id }], { unserved, internet: two.id }),
    ]) {
      await inService();
      const before = received();
      expect(await world.configure(configuration), world.log).toMatchObject({ type: "applied" });
      expect(await reachesNetwork(site.app)).toBe(false);
      expect(await world.carriers()).toEqual([]);
      expect(await resolve()).toBe("ENODATA");
      expect(received()).toEqual(before);
    }
  });

  test("an agent that starts during an outage resolves other names at a resolver in an unserved block", async () => {
    await inService();
    await use([], { unserved: { addresses: ["192.0.2.48/28"], names: [name] } });
    expect(await world.stopAgent("SIGKILL")).toBeNull();
    world.startAgent();
    await world.linked();
    await until("the agent answers", async () => Array.isArray(await resolve(outside)));
    expect(await resolve(outside)).toEqual([hostile]);
    expect(await reachesNetwork(localAddresses.resolver)).toBe(false);
    expect(await resolve()).toBe("ENODATA");
    await inService();
    expect(await reachesNetwork(localAddresses.resolver)).toBe(true);
  });

  test("connections finish at a draining gateway, and new ones are blocked", async () => {
    await inService();
    await world.prober.ask("open", { stream: "draining", host: site.app, port: ports.one });
    const says = () => world.prober.ask("say", { stream: "draining", text: `still here? ${Math.random()}` });
    expect(await says()).toBe(true);
    const before = received();
    for (const start of [outOfService, () => use([], { unserved })]) {
      await start();
      await until("the connection goes on", says);
      expect(await world.carriers()).toEqual([]);
      expect(await reachesNetwork(site.app)).toBe(false);
      await inService();
      await until("the connection goes on", says);
    }
    expect(received()).toEqual(before);
  });
});

const counters = `table inet seen { chain in { type filter hook input priority 0;
  ip daddr 10.80.0.0/24 counter
  udp dport 53 counter
  }
}`;
