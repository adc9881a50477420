/**
 * `gatehouse device run` on real packets: configured traffic uses the configured gateways, and other traffic is
 * unaffected.
 */
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../packages/server/src/testing/until.ts";
import { DeviceWorld, type FarGateway, ports, site } from "./device-world.ts";
import { obstacle } from "./namespaces.ts";

const why = obstacle();
if (why !== undefined) console.warn(`Devices are not tested on real packets: ${why}.`);

const app = `${site.app}/32`;
const asBlock = (address: string) => `${address}/${address.includes(":") ? 128 : 32}`;

describe.skipIf(why !== undefined)("a device on real packets", () => {
  const world = new DeviceWorld();
  let one: FarGateway;
  let two: FarGateway;

  beforeAll(async () => {
    await world.build();
    [one, two] = world.gateways as [FarGateway, FarGateway];
    await world.startControlPlane();
    world.startAgent();
    await world.linked();
  });
  afterAll(() => world.remove());

  async function use(...given: Parameters<DeviceWorld["configure"]>): Promise<void> {
    const answer = await world.configure(...given);
    expect(answer, world.log).toMatchObject({ type: "applied" });
  }

  const says = (stream: string) => world.prober.ask("say", { stream, text: `still here? ${Math.random()}` });

  test("routes the configured traffic through a gateway, over IPv4 and IPv6", async () => {
    expect(await world.carriers()).toEqual([]);
    await use(world.content([{ allowedIps: [app] }, {}]));
    expect(await world.carriers()).toEqual(["one"]);
    for (const host of [...one.addresses, ...two.addresses])
      expect(await world.prober.ask("ping", { host })).toBe(true);
    expect(await world.carriers(site.files)).toEqual([]);
    await until("handshakes are reported", async () => {
      const { heartbeat } = await world.state();
      return heartbeat?.gateways.every(({ lastHandshake }) => lastHandshake !== undefined) === true;
    });
  });

  test("moves traffic that another gateway carries now, and keeps the other peer's connections", async () => {
    await use(world.content([{ allowedIps: [app, `${site.files}/32`] }, {}]));
    const host = one.addresses[0];
    await one.prober.ask("echo", { port: 9000, hosts: [host] });
    await world.prober.ask("open", { stream: "one", host, port: 9000 });
    expect(await says("one")).toBe(true);
    await use(world.content([{ allowedIps: [`${site.files}/32`] }, { allowedIps: [app] }]));
    expect(await world.carriers()).toEqual(["two"]);
    expect(await world.carriers(site.files)).toEqual(["one"]);
    expect(await says("one")).toBe(true);
  });

  test("lets connections finish at a draining gateway that answers, while new ones use the other", async () => {
    await use(world.content([{ allowedIps: [app] }, {}]));
    expect(await world.carriers()).toEqual(["one"]);
    await world.prober.ask("open", { stream: "leaving", host: site.app, port: ports.one });
    expect(await says("leaving")).toBe(true);
    // A new session has to begin first. A connection that broke never continues.
    const goesOn = () => until("the connection goes on", () => says("leaving"));
    await use(world.content([{ gateway: two.id, allowedIps: [app] }]));
    await goesOn();
    expect(await world.carriers()).toEqual(["two"]);
    await world.prober.ask("open", { stream: "new", host: site.app, port: ports.two });
    expect([await says("new"), await says("leaving")]).toEqual([true, true]);
    // The gateway returns: its connections continue, now over the tunnel itself.
    await use(world.content([{ allowedIps: [app] }, {}]));
    await goesOn();
    expect(await world.carriers()).toEqual(["one"]);
    expect(world.machine.run("ip", ["link", "show"])).not.toContain(`${world.interfaceName}d`);
    expect(world.machine.run("nft", ["list", "tables"])).not.toContain(world.interfaceName);
  });

  test("keeps each connection at its first gateway, while two gateways drain and return in any order", async () => {
    const only = ({ id }: typeof one) => use(world.content([{ gateway: id, allowedIps: [app] }]));
    const begun: string[] = [];
    const streams = [
      { gateway: one, carrier: "one", port: ports.one },
      { gateway: two, carrier: "two", port: ports.two },
      { gateway: one, carrier: "one", port: ports.one },
      { gateway: two, carrier: "two", port: ports.two },
    ];
    for (const [index, { gateway, carrier, port }] of streams.entries()) {
      await only(gateway);
      await until("new connections go there", async () => (await world.carriers()).join() === carrier);
      const stream = `after move ${index}`;
      await world.prober.ask("open", { stream, host: site.app, port });
      begun.push(stream);
      for (const each of begun) await until(`the connection ${each} goes on`, () => says(each));
    }
    await use(world.content([{ allowedIps: [app] }, {}]));
  });

  test("routes everything through the internet gateway, except endpoints and the control plane", async () => {
    const everywhere = { ...world.content([{ allowedIps: [app] }, {}]), internet: two.id };
    await use(everywhere);
    expect(world.machine.run("ip", ["route", "get", "198.51.100.7"])).toContain(world.interfaceName);
    expect(world.machine.run("ip", ["route", "get", "2001:db8:9::7"])).toContain(world.interfaceName);
    expect(world.machine.run("ip", ["route", "get", "192.0.2.77"])).toContain("dev wide");
    expect(await world.carriers()).toEqual(["one"]);
    expect((await world.state()).isLinked).toBe(true);
    await use(world.content([{ allowedIps: [app] }, {}]));
    expect(await world.carriers()).toEqual(["one"]);
  });

  test("leaves connections outside the tunnel unchanged while the internet gateway drains", async () => {
    const neighbour = { host: "192.0.2.2", port: 9100 };
    await two.prober.ask("echo", { port: neighbour.port, hosts: [neighbour.host] });
    const through = ({ id }: typeof one) => ({ ...world.content([{ gateway: id, allowedIps: [app] }]), internet: id });
    await use(through(one));
    expect(await world.carriers()).toEqual(["one"]);
    await world.prober.ask("open", { stream: "neighbour", ...neighbour });
    expect(await says("neighbour")).toBe(true);
    await use(through(two));
    // The gateway is draining: its known connections still use it.
    expect(world.machine.run("ip", ["link", "show"])).toContain(`${world.interfaceName}d`);
    expect(await says("neighbour")).toBe(true);
    expect((await world.state()).isLinked).toBe(true);
    await use(world.content([{ allowedIps: [app] }, {}]));
    expect(await says("neighbour")).toBe(true);
  });

  test("reaches an endpoint outside the tunnel even if the configuration routes its network into it", async () => {
    await use(world.content([{ allowedIps: [app, "192.0.2.0/24"] }, {}]));
    expect(await world.carriers()).toEqual(["one"]);
    expect(world.machine.run("ip", ["route", "get", "192.0.2.77"])).toContain(world.interfaceName);
  });

  test("resolves the gateway's names there, and routes their addresses through it before responding", async () => {
    await use(world.content([{ allowedIps: [app] }, { names: ["*.internal.example.com"] }]));
    expect(await world.carriers(site.files)).toEqual([]);
    const resolve = (name: string) => world.prober.ask<unknown>("resolve", { server: "127.0.0.153", name, type: "A" });
    expect(await resolve("files.internal.example.com")).toEqual([site.files]);
    expect(await world.prober.ask("tcp", { host: site.files, port: ports.two })).toBe(true);
    expect(await resolve("missing.internal.example.com")).toBe("ENOTFOUND");
    // If another gateway carries the name, the name's known addresses move with it.
    await use(world.content([{ allowedIps: [app], names: ["files.internal.example.com"] }, {}]));
    expect(await world.carriers(site.files)).toEqual(["one"]);
  });

  describe("with 14,000 blocks at one gateway", () => {
    const blocks = [
      ...Array.from({ length: 9_000 }, (_, n) => `10.90.${n >> 6}.${(n & 63) * 4}/31`),
      ...Array.from({ length: 5_000 }, (_, n) => `2001:db8:90:${(n + 1).toString(16)}::/64`),
    ];
    /** Returns a value of a peer in the output of `wg show`. */
    const shown = (what: string, { publicKey }: FarGateway) =>
      world.machine
        .run("wg", ["show", world.interfaceName, what])
        .split("\n")
        .find((line) => line.startsWith(publicKey))
        ?.slice(publicKey.length + 1);
    const allowedIpsOf = (gateway: FarGateway) => shown("allowed-ips", gateway)?.split(" ") ?? [];
    const handshakes = () => [one, two].map((gateway) => shown("latest-handshakes", gateway));
    const begin = async (stream: string, host: string, port: number) => {
      await world.prober.ask("open", { stream, host, port });
      expect(await says(stream)).toBe(true);
    };
    const hasRoute = (family: string, block: string) =>
      world.machine.run("ip", [family, "route", "show", "table", "26440", block]) !== "";

    test("applies them, and keeps the sessions and connections of both gateways", async () => {
      await use(world.content([{ allowedIps: [app] }, {}]));
      const host = two.addresses[0];
      await two.prober.ask("echo", { port: 9000, hosts: [host] });
      await begin("many one", site.app, ports.one);
      await begin("many two", host, 9000);
      const before = handshakes();
      await use(world.content([{ allowedIps: [app, ...blocks] }, {}]));
      expect(new Set(allowedIpsOf(one))).toEqual(new Set([...one.addresses.map(asBlock), app, ...blocks]));
      expect(allowedIpsOf(two)).toHaveLength(2);
      expect([hasRoute("-4", "10.90.140.156/31"), hasRoute("-6", "2001:db8:90:1388::/64")]).toEqual([true, true]);
      expect([await says("many one"), await says("many two")]).toEqual([true, true]);
      expect(handshakes()).toEqual(before);
    });

    test("moves them to the other gateway while the first one drains", async () => {
      await use(world.content([{ gateway: two.id, allowedIps: [app, ...blocks] }]));
      expect(allowedIpsOf(two)).toHaveLength(blocks.length + 3);
      // A new session with the draining gateway has to begin first.
      await until("the connection goes on", () => says("many one"));
      expect(await world.carriers()).toEqual(["two"]);
    });

    test("wg refuses an input that ends within a peer", async () => {
      const before = allowedIpsOf(two);
      const peer = `[Peer]\nAllowedIPs = ${app}, 10.90.0.0/16\nPublicKey = ${two.publicKey}`;
      const addPeer = (text: string) => () =>
        world.machine.run("sh", ["-c", 'cat | wg addconf "$0" /dev/stdin', world.interfaceName], text);
      for (const length of [3, 20, 30, 40, 45, 60, peer.length - 1]) {
        expect(addPeer(peer.slice(0, length))).toThrow();
      }
      expect(allowedIpsOf(two)).toEqual(before);
      await use(world.content([{ allowedIps: [app] }, {}]));
      expect(await world.carriers()).toEqual(["one"]);
      expect([hasRoute("-4", "10.90.140.156/31"), hasRoute("-6", "2001:db8:90:1388::/64")]).toEqual([false, false]);
    });
  });

  test("refuses forged, replayed, expired or malformed configurations, and keeps its current one", async () => {
    const good = world.content([{ allowedIps: [app] }, {}]);
    await use(good);
    const other = world.content([{}, { allowedIps: [app] }]);
    const cases = [
      [{ changes: { device: one.id } }, "forged"],
      [{ changes: { tenant: one.id } }, "forged"],
      [{ forge: { signature: `${"A".repeat(86)}==` } }, "forged"],
      [{ changes: { format: 2 } }, "unknown_format"],
      [{ changes: { expiresAt: Date.now() - 1 } }, "expired"],
      [{ changes: { generation: 0 } }, "replayed"],
      [{ forge: { content: good } }, "malformed"],
    ] as const;
    for (const [more, reason] of cases) {
      expect(await world.configure(other, more)).toMatchObject({ type: "failed", reason });
    }
    expect(await world.carriers()).toEqual(["one"]);
  });

  test("keeps the previous configuration completely if the machine refuses a part of the new one", async () => {
    await use(world.content([{ allowedIps: [app] }, {}]));
    await world.prober.ask("open", { stream: "atomic", host: site.app, port: ports.one });
    expect(await says("atomic")).toBe(true);
    // The IPv6 address is a multicast address, which is invalid. Peers and IPv4 are already changed at this point.
    const refused = world.content([{}, { allowedIps: [app] }]);
    const answer = await world.configure({ ...refused, ipv6: "ff02::7" });
    expect(answer).toMatchObject({ type: "failed", reason: "not_applied" });
    expect(await world.carriers()).toEqual(["one"]);
    expect(await says("atomic")).toBe(true);
  });

  test("continues without a control plane, and after its own restart", async () => {
    await use(world.content([{ allowedIps: [app] }, {}]));
    await world.prober.ask("open", { stream: "restart", host: site.app, port: ports.one });
    await world.stopControlPlane();
    await world.stopAgent("SIGKILL");
    expect(await says("restart")).toBe(true);
    world.startAgent();
    await until("it goes on", () => world.log.includes("resumed the stored configuration"), 50_000);
    expect(await world.carriers()).toEqual(["one"]);
    expect(await says("restart")).toBe(true);
    await world.stopAgent("SIGTERM");
    world.startAgent();
    await until("it goes on", () => world.log.includes("resumed the stored configuration"), 50_000);
    expect(await world.carriers()).toEqual(["one"]);
  });

  test("accepts no configurations of a control plane with another key", async () => {
    await world.startControlPlane();
    await until("it sees the other key", () => world.log.includes("server is not the pinned one"), 50_000);
    expect(await world.carriers()).toEqual(["one"]);
  });
});

describe.skipIf(why !== undefined)("a device's end on real packets", () => {
  const world = new DeviceWorld();

  beforeAll(async () => {
    await world.build();
    await world.startControlPlane();
    world.startAgent();
    await world.linked();
  });
  afterAll(() => world.remove());

  test("uses no gateway once the configuration has expired, and resumes with the next one", async () => {
    const content = world.content([{ allowedIps: [app] }, {}]);
    const expiresAt = Date.now() + 6_000;
    expect(await world.configure(content, { changes: { expiresAt } })).toMatchObject({ type: "applied" });
    expect(await world.carriers()).toEqual(["one"]);
    await until("it has expired", () => world.log.includes("configuration expired"));
    expect(await world.carriers()).toEqual([]);
    // The agent reports over its own link that no configuration is in use any more.
    await world.linked();
    expect((await world.state()).hello).toMatchObject({ uses: { hash: "0".repeat(64) } });
    expect(await world.configure(content)).toMatchObject({ type: "applied" });
    expect(await world.carriers()).toEqual(["one"]);
  });

  test("leaves nothing behind after an orderly stop", async () => {
    const rules = (family: string) => world.machine.run("ip", [family, "rule", "show"]).split("\n").length;
    expect(rules("-4")).toBeGreaterThan(4);
    expect(await world.stopAgent("SIGTERM")).toBe(0);
    expect(world.machine.run("ip", ["link", "show"])).not.toContain(world.interfaceName);
    expect([rules("-4"), rules("-6")]).toEqual([4, 3]);
    expect(world.machine.run("ip", ["route", "show", "table", "all"])).not.toContain("2644");
    await until("wireguard-go has ended", () => !existsSync(`/var/run/wireguard/${world.interfaceName}.sock`));
    expect(await world.carriers()).toEqual([]);
  });
});
