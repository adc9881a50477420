/** Changes of the agent's nftables table and WireGuard interface by other programs, on a real kernel. */
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../packages/server/src/testing/until.ts";
import { app, type Device, EnforcementWorld, files, type Gateway, ports } from "./enforcement-world.ts";
import { obstacle } from "./namespaces.ts";

const why = obstacle();
if (why !== undefined) console.warn(`Changed filters are not tested on a real kernel: ${why}.`);

const resource = "0199aaaa-0000-7000-8000-000000000001";

const portOf = (name: string) => `wg show ${name} listen-port`;
const keyOf = (name: string) => `wg show ${name} public-key`;
const forwardingOf = (family: "ipv4" | "ipv6") => `cat /proc/sys/net/${family}/conf/all/forwarding`;

describe.skipIf(why !== undefined)("a change by another program", () => {
  const world = new EnforcementWorld();
  let gateway: Gateway;
  let ann: Device;
  let table: string;

  function content(): ConfigurationContent {
    const services = [{ protocol: "TCP" as const, ports: [ports.web, ports.web] as const, resource }];
    return {
      ...world.base(gateway),
      classes: { "group/staff": { [ann.ipv4]: true } },
      resources: { [resource]: { devices: [{ action: "allow", classes: ["group/staff"] }], sites: [] } },
      destinations: Object.fromEntries(
        [`${app.ipv4}/32`, `${app.ipv6}/128`, "10.80.2.0/24", "10.80.2.128/25", "10.80.3.0/24", "fd81::/64"].map(
          (key) => [key, { services, otherwise: "drop" as const }],
        ),
      ),
    };
  }

  beforeAll(async () => {
    await world.build();
    [gateway] = world.gateways as [Gateway];
    [ann] = world.devices as [Device];
    table = `gatehouse-${gateway.interfaceName}`;
    const { state, message = "" } = await gateway.apply(world.signed(content(), gateway));
    expect(state, message).toBe("applied");
  });
  afterAll(() => world.remove());

  const repairs = () => gateway.log.split("restored the filters").length - 1;
  const reaches = (host: string) => ann.prober.ask("tcp", { host, port: ports.web });

  test("is not found if there is none", async () => {
    const before = repairs();
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    expect(repairs()).toBe(before);
    expect(await reaches(app.ipv4)).toBe(true);
    expect((await gateway.report()).warnings).toEqual([]);
  });

  test.each<[string, (name: string) => readonly (readonly string[])[]]>([
    ["a flushed chain", (name) => [["flush", "chain", "inet", name, "traffic"]]],
    ["an inserted rule", (name) => [["insert", "rule", "inet", name, "traffic", "accept"]]],
    ["a rule inserted into a base chain", (name) => [["insert", "rule", "inet", name, "forward", "accept"]]],
    ["a rule in the chain that drops", (name) => [["insert", "rule", "inet", name, "refused", "accept"]]],
    ["an added element", (name) => [["add", "element", "inet", name, "hosts4", `{ ${files.ipv4} : goto allowed }`]]],
    ["a removed element", (name) => [["delete", "element", "inet", name, "hosts4", `{ ${app.ipv4} }`]]],
    ["a dormant table", (name) => [["add", "table", "inet", name, "{ flags dormant ; }"]]],
    ["a flushed ruleset", () => [["flush", "ruleset"]]],
  ])("of the table is repaired and reported within seconds: %s", async (_, commands) => {
    const before = repairs();
    for (const command of commands(table)) gateway.namespace.run("nft", command);
    await until("the agent restores the table", () => repairs() > before, 10_000);
    expect(await reaches(app.ipv4)).toBe(true);
    expect(await reaches(files.ipv4)).toBe(false);
    expect((await gateway.report()).warnings).toEqual([expect.stringContaining("nftables")]);
  });

  test.each<[string, string, (name: string, key: string) => readonly [program: string, args: readonly string[]]]>([
    ["widened allowed IPs", "peers", (name, key) => ["wg", ["set", name, "peer", key, "allowed-ips", "0.0.0.0/0"]]],
    [
      "a preshared key",
      "peers",
      (name, key) => ["sh", ["-c", `wg genpsk | wg set ${name} peer ${key} preshared-key /dev/stdin`]],
    ],
    ["a removed route", "routes", (name) => ["ip", ["-4", "route", "flush", "dev", name, "proto", "71"]]],
  ])("of the interface is repaired and reported within seconds: %s", async (_, part, change) => {
    const repaired = () => gateway.log.split(`restored the ${part}`).length - 1;
    const before = repaired();
    const name = gateway.interfaceName;
    const shown = (what: string) => gateway.namespace.run("wg", ["show", name, what]).split("\n").sort();
    const peers = () => [...shown("allowed-ips"), ...shown("preshared-keys")];
    const intended = peers();
    gateway.namespace.run(...change(name, ann.publicKey));
    await until("the agent restores the interface", () => repaired() > before, 20_000);
    expect(peers()).toEqual(intended);
    expect(await reaches(app.ipv4)).toBe(true);
    expect((await gateway.report()).warnings).toContainEqual(
      expect.stringContaining(`Another program changed the ${part} of the interface ${name}.`),
    );
  });

  test.each<[string, string, string, (name: string) => string, (name: string) => string]>([
    [
      "the listen port",
      "changed the listen port",
      "the listen port",
      (name) => `wg set ${name} listen-port 51999`,
      portOf,
    ],
    [
      "the private key",
      "changed the private key",
      "the private key",
      (name) => `wg genkey | wg set ${name} private-key /dev/stdin`,
      keyOf,
    ],
    [
      "IPv4 forwarding",
      "disabled forwarding",
      "forwarding",
      () => "sysctl -w net.ipv4.ip_forward=0",
      () => forwardingOf("ipv4"),
    ],
    [
      "IPv6 forwarding",
      "disabled forwarding",
      "forwarding",
      () => "sysctl -w net.ipv6.conf.all.forwarding=0",
      () => forwardingOf("ipv6"),
    ],
    [
      "IPv4 forwarding of the interface",
      "disabled forwarding",
      "forwarding",
      (name) => `sysctl -w net.ipv4.conf.${name}.forwarding=0`,
      (name) => `cat /proc/sys/net/ipv4/conf/${name}/forwarding`,
    ],
  ])("of %s is repaired and reported within seconds", async (_, warning, part, command, shown) => {
    const name = gateway.interfaceName;
    const repaired = () => gateway.log.split(`restored ${part}, which`).length - 1;
    const before = repaired();
    const read = (first = "true") => gateway.namespace.run("sh", ["-c", `${first}; ${shown(name)}`]);
    const intended = read();
    // One shell changes and reads the setting. Otherwise, the agent may restore it in between.
    expect(read(`${command(name)} >/dev/null`)).not.toBe(intended);
    await until("the agent restores it, and logs that", () => repaired() === before + 1, 20_000);
    expect(read()).toBe(intended);
    ann.reconnect();
    await until("traffic flows", () => reaches(app.ipv4), 20_000);
    expect((await gateway.report()).warnings).toContainEqual(expect.stringContaining(`Another program ${warning}`));
  });

  // The last test, because the machine's other interfaces lose their IPv6 addresses.
  test("that disables IPv6 is one warning, and IPv4 is repaired and served", async () => {
    const name = gateway.interfaceName;
    const run = (program: string, ...args: readonly string[]) => gateway.namespace.run(program, args);
    const failures = () => gateway.log.split("failed to restore a part of the tunnel").length - 1;
    const warnings = async () =>
      ((await gateway.report()).warnings ?? []).filter((warning) => !warning.startsWith("Another program"));
    const failuresBefore = failures();
    run("sysctl", "-w", "net.ipv6.conf.all.disable_ipv6=1");
    run("wg", "set", name, "listen-port", "51999");
    run("ip", "-4", "route", "flush", "dev", name, "proto", "71");
    const route = () => run("ip", "-4", "route", "show", "exact", "100.64.0.0/10", "dev", name);
    await until("the agent restores the route", () => route() !== "", 20_000);
    expect(run("wg", "show", name, "listen-port").trim()).toBe("51820");
    const expected = [expect.stringMatching(/IPv6 is disabled on this machine.*net.ipv6.conf.all.disable_ipv6=0/)];
    await until("the agent reports it", async () => (await warnings()).length > 0, 20_000);
    expect(await warnings()).toEqual(expected);
    ann.reconnect();
    await until("traffic flows", () => reaches(app.ipv4), 20_000);
    const { state, message = "" } = await gateway.apply(world.signed(content(), gateway));
    expect(state, message).toBe("applied");
    expect(await reaches(app.ipv4)).toBe(true);
    expect(failures()).toBe(failuresBefore + 1);
    run("sysctl", "-w", "net.ipv6.conf.all.disable_ipv6=0");
    await until("the warning ends", async () => (await warnings()).length === 0, 20_000);
    expect(run("ip", "-6", "address", "show", "dev", name)).toContain(gateway.addresses.ipv6);
    expect(run("ip", "-6", "route", "show", "dev", name)).toContain("fd64::/64");
  });
});
