/** A device that cannot reach a gateway uses another one as a relay, which forwards its packets unchanged. */
import type { ConfigurationContent, Settings } from "@gatehouse/agent-protocol/gateway/configuration";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../packages/server/src/testing/until.ts";
import { app, type Device, EnforcementWorld, type Gateway, listenPort, ports } from "./enforcement-world.ts";
import { obstacle, Prober } from "./namespaces.ts";

const why = obstacle();
if (why !== undefined) console.warn(`Relays are not tested on real packets: ${why}.`);

const resource = "0199aaaa-0000-7000-8000-000000000001";
const relayPort = 51902;
const relayAt = { 4: `192.0.2.1:${relayPort}`, 6: `[2001:db8:2::1]:${relayPort}` };
const targetAt = { 4: `192.0.2.2:${listenPort}`, 6: `[2001:db8:2::2]:${listenPort}` };

describe.skipIf(why !== undefined)("a relay", () => {
  const world = new EnforcementWorld();
  let relay: Gateway;
  let target: Gateway;
  let eve: Device;

  beforeAll(async () => {
    await world.build();
    [relay, target] = world.gateways as [Gateway, Gateway];
    eve = world.devices[2] as Device;
    await enforce(target, reaching());
    // The device's packets cannot reach the gateway directly.
    target.namespace.run("nft", ["-f", "-"], wall);
    relay.namespace.run("nft", ["-f", "-"], watch);
  });
  afterAll(() => world.remove());
  beforeEach(() => relays(undefined));

  const wall = `table inet wall {
  chain input {
    type filter hook input priority -300; policy accept;
    ip saddr 192.0.2.13 drop
    ip6 saddr 2001:db8:2::13 drop
  }
}
`;
  /** Matches packets through the relay that are not UDP to or from the other gateway's port. */
  const watch = `table inet watch {
  counter foreign { }
  chain forward {
    type filter hook forward priority 300; policy accept;
    udp dport ${listenPort} accept
    udp sport ${listenPort} accept
    counter name foreign
  }
}
`;

  /** Counts packets of strangers, which begin with four bytes of choice and these. */
  const marker = "aabbccdd";
  const counting = `table inet strangers {
  counter passed { }
  counter short { }
  chain input {
    type filter hook input priority -300; policy accept;
    ip saddr 192.0.2.1 udp dport ${listenPort} @th,96,32 0x${marker} counter name passed
    ip saddr 192.0.2.1 udp dport ${listenPort} udp length < 40 counter name short
  }
}
`;

  function reaching(): ConfigurationContent {
    const service = { protocol: "TCP" as const, ports: [ports.web, ports.web] as const, resource };
    return {
      ...world.base(target),
      classes: { "group/staff": { [eve.ipv4]: true } },
      resources: { [resource]: { devices: [{ action: "allow", classes: ["group/staff"] }], sites: [] } },
      destinations: { [`${app.ipv4}/32`]: { services: [service], otherwise: "drop" } },
    };
  }

  async function enforce(gateway: Gateway, content: ConfigurationContent): Promise<void> {
    const { state, message = "" } = await gateway.apply(world.signed(content, gateway));
    expect(state, message).toBe("applied");
  }

  function relays(list: Settings["relay"], more: Partial<Settings> = {}): Promise<void> {
    const base = world.base(relay);
    const settings = { ...base.settings, ...more, ...(list === undefined ? {} : { relay: list }) };
    return enforce(relay, { ...base, settings });
  }

  /** Switches to an endpoint, like a device that cannot reach its gateway. Its socket stays the same. */
  function goThrough(endpoint: string): void {
    const peer = ["peer", target.publicKey, "endpoint", endpoint];
    eve.namespace.run("wg", ["set", eve.interfaceName, ...peer, "persistent-keepalive", "1"]);
  }

  const reaches = () => eve.prober.ask("tcp", { host: app.ipv4, port: ports.web });
  const says = () => eve.prober.ask("say", { stream: "relayed", text: `still here? ${Math.random()}` });

  test.each([4, 6] as const)("forwards packets that it cannot decrypt, over IPv%i", async (family) => {
    eve.reconnect();
    expect(await reaches()).toBe(false);
    goThrough(relayAt[family]);
    await relays([{ listenPort: relayPort, endpoint: targetAt[family] }]);
    await until("the way is found", reaches);
    const table = relay.namespace.run("nft", ["list", "table", "inet", `gatehouse-${relay.interfaceName}`]);
    expect(table).toMatch(/counter allowed \{\s+packets 0 bytes 0/);
    expect(table).toMatch(/counter relayed \{\s+packets [1-9]/);
    expect(relay.namespace.run("nft", ["list", "counters", "table", "inet", "watch"])).toContain("packets 0 bytes 0");
    expect((await relay.report()).peers?.find(({ peer }) => peer === eve.ipv4)?.lastHandshake).toBeUndefined();
  });

  test("that is switched off cuts its devices' traffic, and carries it again when it is back", async () => {
    await relays([{ listenPort: relayPort, endpoint: targetAt[4] }]);
    goThrough(relayAt[4]);
    await until("the way is found", reaches);
    await eve.prober.ask("open", { stream: "relayed", host: app.ipv4, port: ports.web });
    expect(await says()).toBe(true);
    await relays(undefined);
    expect(await says()).toBe(false);
    expect(await reaches()).toBe(false);
    await relays([{ listenPort: relayPort, endpoint: targetAt[4] }]);
    await until("the way is found again", reaches);
    await until("the running connection goes on", says);
  });

  test("follows a gateway that moves, for devices that already use it", async () => {
    await relays([{ listenPort: relayPort, endpoint: targetAt[4] }]);
    goThrough(relayAt[4]);
    await until("the way is found", reaches);
    target.namespace.run("ip", ["address", "add", "192.0.2.22/24", "dev", "wide"]);
    await relays([{ listenPort: relayPort, endpoint: `192.0.2.22:${listenPort}` }]);
    await until("the way is found again", reaches);
  });

  test("forwards nothing to itself or into its tunnel", async () => {
    for (const endpoint of ["127.0.0.1:53", `${eve.ipv4}:53`, "[::1]:53"]) {
      await relays([{ listenPort: relayPort, endpoint }]);
      const map = relay.namespace.run("nft", ["list", "map", "inet", `gatehouse-${relay.interfaceName}`, "relays4"]);
      expect(map).not.toContain("elements");
    }
    const service = new Prober(relay.namespace);
    await service.ready;
    await service.ask("echo", { port: ports.admin, hosts: ["192.0.2.1"] });
    expect(await eve.prober.ask("udp", { host: "192.0.2.1", port: ports.admin })).toBe(true);
    await relays([{ listenPort: relayPort, endpoint: `192.0.2.1:${ports.admin}` }]);
    expect(await eve.prober.ask("udp", { host: "192.0.2.1", port: relayPort })).toBe(false);
  });

  test("opens connections only for WireGuard, and limits those of one source", async () => {
    await relays([{ listenPort: relayPort, endpoint: targetAt[4] }]);
    target.namespace.run("nft", ["-f", "-"], counting);
    const stranger = world.devices[0] as Device;
    const sends = (type: string, bytes: number, count: number) => {
      const payload = `${type}${marker}`.padEnd(2 * bytes, "0").slice(0, 2 * bytes);
      return stranger.prober.ask("sendFromPorts", { host: "192.0.2.1", port: relayPort, payload, count });
    };
    const counted = (counter: string) => {
      const listed = target.namespace.run("nft", ["list", "counter", "inet", "strangers", counter]);
      return Number(/packets ([0-9]+)/.exec(listed)?.[1]);
    };
    const passed = () => counted("passed");
    for (const [type, bytes] of [
      // A rule that reads the type does not match packets that end before it.
      ["", 0],
      ["040000", 3],
      ["04000000", 4],
      ["04000000", 31],
      ["01000000", 8],
      ["02000000", 92],
      ["00000001", 148],
    ] as const)
      await sends(type, bytes, 5);
    await sends("01000000", 148, 5);
    await sends("04000000", 32, 5);
    await until("they pass", () => passed() >= 10);
    expect([passed(), counted("short")]).toEqual([10, 0]);
    await sends("01000000", 148, 1_000);
    await until("some pass", () => passed() > 150);
    expect(passed()).toBeLessThan(600);
    // Another source is not affected.
    eve.reconnect();
    goThrough(relayAt[4]);
    await until("the way is found", reaches);
  });

  test("in maintenance accepts no new devices, and carries the others until the end", async () => {
    const list = [{ listenPort: relayPort, endpoint: targetAt[4] }];
    await relays(list);
    goThrough(relayAt[4]);
    await until("the way is found", reaches);
    await eve.prober.ask("open", { stream: "relayed", host: app.ipv4, port: ports.web });
    const since = Date.now();
    await relays(list, { drain: { since, until: since + 600_000 } });
    expect(await says()).toBe(true);
    await relays(list, { drain: { since, until: Date.now() + 500 } });
    await until("the drain is over", async () => !(await says()));
  });
});
