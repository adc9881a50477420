/**
 * A device in a network whose resolver and router have addresses that a gateway answers for its names. The second
 * gateway has the same addresses, and gives other answers:
 *
 *     device ── public ─┬─ 192.0.2.53, .54, .254: resolvers and a router of the network
 *                       └─ gateway two ── 192.0.2.53, .54, .254 behind the gateway
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../packages/server/src/testing/until.ts";
import { DeviceWorld, type FarGateway, localAddresses as local } from "./device-world.ts";
import { obstacle, Prober } from "./namespaces.ts";

const why = obstacle();
if (why !== undefined) console.warn(`Local networks are not tested on real packets: ${why}.`);

const agentDns = "127.0.0.153";
const outside = "host.example.org";
const answers = { network: "203.0.113.7", gateway: "203.0.113.66" };
/** The network and the gateway serve different ports of the same addresses. */
const ports = { network: 9300, gateway: 9301 };

describe.skipIf(why !== undefined)("a device whose names have addresses of its own network", () => {
  const world = new DeviceWorld();

  beforeAll(async () => {
    await world.build();
    world.namespaces.setResolvers(world.machine, [local.resolver]);
    const [, two] = world.gateways as [FarGateway, FarGateway];
    const hosts = Object.values(local);
    const network = world.namespaces.add("network");
    world.namespaces.connect(
      network,
      world.network,
      "wide",
      hosts.map((host) => `${host}/24`),
    );
    // Only the network responds to ARP requests for these addresses.
    two.namespace.run("sh", ["-c", "echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore"]);
    for (const host of hosts) two.namespace.run("ip", ["address", "add", `${host}/32`, "dev", "lo"]);
    const prober = new Prober(network);
    await prober.ready;
    for (const [owner, machine] of [
      ["network", prober],
      ["gateway", two.prober],
    ] as const) {
      await machine.ask("echo", { port: ports[owner], hosts });
      for (const host of hosts) {
        await machine.ask("serveNames", { host, records: { [outside]: { A: [answers[owner]] } } });
      }
    }
    await world.startControlPlane();
    world.startAgent();
    await world.linked();
    const content = world.content([{}, { names: ["*.internal.example.com"] }]);
    expect(await world.configure(content), world.log).toMatchObject({ type: "applied" });
  });
  afterAll(() => world.remove());

  const resolve = (name: string, server = agentDns) =>
    world.prober.ask<unknown>("resolve", { server, name, type: "A" });
  const reaches = (host: string) =>
    Promise.all([ports.network, ports.gateway].map((port) => world.prober.ask("tcp", { host, port }))).then(
      ([network, gateway]) => ({ network, gateway }),
    );

  test("still asks the network's resolver after a name has its address", async () => {
    expect(await resolve(outside)).toEqual([answers.network]);
    expect(await resolve("resolver.internal.example.com")).toEqual([local.resolver]);
    expect(await resolve(outside)).toEqual([answers.network]);
    expect(await resolve(outside, local.resolver)).toEqual([answers.network]);
    // Everything else at the address goes through the gateway.
    expect(await reaches(local.resolver)).toEqual({ network: false, gateway: true });
  });

  test("asks the resolver of another network, whose address a name already has", async () => {
    expect(await resolve("second-resolver.internal.example.com")).toEqual([local["second-resolver"]]);
    expect(await resolve(outside, local["second-resolver"])).toEqual([answers.gateway]);
    world.namespaces.setResolvers(world.machine, [local["second-resolver"]]);
    expect(await resolve(outside)).toEqual([answers.network]);
    expect(await resolve(outside, local["second-resolver"])).toEqual([answers.network]);
  });

  test("sends nothing but DNS to a new router whose address a name has, and names do not get it again", async () => {
    expect(await resolve("router.internal.example.com")).toEqual([local.router]);
    expect(await reaches(local.router)).toEqual({ network: false, gateway: true });
    world.machine.run("ip", ["route", "add", "default", "via", local.router]);
    await until("the gateway no longer carries it", async () => !(await reaches(local.router)).gateway);
    expect(await reaches(local.router)).toEqual({ network: false, gateway: false });
    expect(await resolve(outside, local.router)).toEqual([answers.network]);
    expect(await resolve("router.internal.example.com")).toBe("ENODATA");
    // The other names of the gateway are unaffected.
    expect(await reaches(local.resolver)).toEqual({ network: false, gateway: true });
    expect(await resolve("resolver.internal.example.com")).toEqual([local.resolver]);
  });
});
