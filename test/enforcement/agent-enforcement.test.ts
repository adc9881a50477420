/**
 * The agent on real packets: traffic that a configuration allows passes, and all other traffic is dropped. The test
 * provides the configurations directly.
 */
import { execFileSync } from "node:child_process";
import { cp, mkdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { ConfigurationContent, Membership, Service } from "@gatehouse/agent-protocol/gateway/configuration";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../packages/server/src/testing/until.ts";
import {
  app,
  type Device,
  EnforcementWorld,
  files,
  type Gateway,
  internet,
  names,
  ports,
} from "./enforcement-world.ts";
import { obstacle, Prober } from "./namespaces.ts";

const why = obstacle();
if (why !== undefined) console.warn(`Enforcement is not tested on real packets: ${why}.`);

const web: Service = { protocol: "TCP", ports: [ports.web, ports.web] };
const everyService: readonly Service[] = [web, { protocol: "UDP", ports: [8000, 8100] }, { protocol: "ICMP" }];
const resource = "0199aaaa-0000-7000-8000-000000000001";

describe.skipIf(why !== undefined)("an agent on real packets", () => {
  const world = new EnforcementWorld();
  let gateway: Gateway;
  let ann: Device;
  let bob: Device;
  let eve: Device;

  beforeAll(async () => {
    await world.build();
    [gateway] = world.gateways as [Gateway, Gateway];
    [ann, bob, eve] = world.devices as [Device, Device, Device];
  });
  afterAll(() => world.remove());

  /** One resource at these addresses, for the devices that are members. */
  function content(
    members: Readonly<Record<string, Membership>>,
    { services = everyService, at = [`${app.ipv4}/32`, `${app.ipv6}/128`], through = gateway } = {},
  ): ConfigurationContent {
    const served = services.map((service) => ({ ...service, resource }));
    return {
      ...world.base(through),
      classes: { "group/staff": members },
      resources: { [resource]: { devices: [{ action: "allow", classes: ["group/staff"] }], sites: [] } },
      destinations: Object.fromEntries(at.map((key) => [key, { services: served, otherwise: "drop" as const }])),
    };
  }

  async function enforce(value: ConfigurationContent, changes = {}, through = gateway): Promise<void> {
    const { state, message = "" } = await through.apply(world.signed(value, through, changes));
    expect(state, message).toBe("applied");
  }

  /** Mounts a file system of its own as the state folder of the gateway, or changes the mount. */
  function mountState(options: string): void {
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", gateway.stateFolder]);
  }

  type Probe = readonly [order: string, host: string, port?: number | undefined];

  /** Returns the probes that are answered. */
  async function answered(device: Device, probes: readonly Probe[]) {
    const results = await Promise.all(
      probes.map(async ([order, host, port]) =>
        (await device.prober.ask(order, { host, port })) ? [order, host, port] : [],
      ),
    );
    return results.filter((result) => result.length > 0);
  }

  const says = (device: Device, stream: string) =>
    device.prober.ask("say", { stream, text: `still here? ${Math.random()}` });

  test("forwards only allowed traffic, over TCP, UDP and ICMP, IPv4 and IPv6", async () => {
    await enforce(content({ [ann.ipv4]: true }));
    const allowed = [app.ipv4, app.ipv6].flatMap((host) => [
      ["tcp", host, ports.web] as const,
      ["udp", host, ports.web] as const,
      ["ping", host, undefined] as const,
    ]);
    const site = { ipv4: "10.80.0.1", ipv6: "fd80::1" };
    const refused = [
      ...[app.ipv4, app.ipv6].flatMap((host) => [
        ["tcp", host, ports.admin] as const,
        ["udp", host, ports.admin] as const,
      ]),
      ...[files, names, internet, site, bob].flatMap(({ ipv4, ipv6 }) =>
        [ipv4, ipv6].flatMap((host) => [["tcp", host, ports.web] as const, ["ping", host, undefined] as const]),
      ),
    ];
    expect(await answered(ann, allowed)).toEqual(allowed);
    expect(await answered(ann, refused)).toEqual([]);
    expect(await answered(bob, [...allowed, ...refused.slice(0, 4)])).toEqual([]);
  });

  test("keeps its sockets open while configurations change", async () => {
    await enforce(content({ [ann.ipv4]: true }));
    const sockets = () => gateway.namespace.run("ss", ["-Hulne", "sport = :51820"]).match(/ino:\d+/g);
    const before = sockets();
    expect(before).toHaveLength(2);
    await enforce(content({}));
    expect(sockets()).toEqual(before);
  });

  test("accepts packets for the gateway's tunnel addresses only from the tunnel and from the machine itself", async () => {
    await enforce(content({}));
    const { ipv4, ipv6 } = gateway.addresses;
    const machine = new Prober(gateway.namespace);
    await machine.ready;
    const outside = ["192.0.2.1", "2001:db8:2::1"] as const;
    await machine.ask("echo", { port: ports.admin, hosts: [ipv4, ipv6, ...outside] });
    const around = [
      ["-4", ipv4, outside[0]],
      ["-6", ipv6, outside[1]],
    ] as const;
    for (const [family, to, via] of around) eve.namespace.run("ip", [family, "route", "add", to, "via", via]);
    const echoes = (prober: Prober, host: string) => prober.ask("udp", { host, port: ports.admin });
    for (const host of outside) expect(await echoes(eve.prober, host), host).toBe(true);
    for (const host of [ipv4, ipv6]) {
      expect(await echoes(eve.prober, host), host).toBe(false);
      expect(await echoes(machine, host), host).toBe(true);
      expect(await ann.prober.ask("ping", { host }), host).toBe(true);
    }
    for (const [family, to] of around) eve.namespace.run("ip", [family, "route", "del", to]);
  });

  test("enforces on each gateway the configuration of that gateway", async () => {
    const [, second] = world.gateways as [Gateway, Gateway];
    await enforce(content({ [eve.ipv4]: true }, { at: [`${files.ipv4}/32`], through: second }), {}, second);
    expect(await answered(eve, [["tcp", files.ipv4, ports.web]])).toHaveLength(1);
    expect(await answered(eve, [["tcp", app.ipv4, ports.web]])).toEqual([]);
  });

  test("cuts the running connections of a removed member, and no others", async () => {
    await enforce(content({ [ann.ipv4]: true, [bob.ipv4]: true }));
    for (const device of [ann, bob]) {
      expect(await device.prober.ask("open", { stream: "change", host: app.ipv4, port: ports.web })).toBe(true);
      expect(await says(device, "change")).toBe(true);
    }
    await enforce(content({ [bob.ipv4]: true }));
    expect(await says(ann, "change")).toBe(false);
    expect(await says(bob, "change")).toBe(true);
  });

  test("cuts the running connections of a removed peer, and no others", async () => {
    await enforce(content({ [ann.ipv4]: true, [bob.ipv4]: true }));
    for (const device of [ann, bob])
      await device.prober.ask("open", { stream: "peer", host: app.ipv6, port: ports.web });
    const both = content({ [bob.ipv4]: true });
    const { [ann.ipv4]: _gone, ...peers } = both.peers;
    await enforce({ ...both, peers });
    expect(await says(ann, "peer")).toBe(false);
    expect(await says(bob, "peer")).toBe(true);
    expect(gateway.namespace.run("wg", ["show", gateway.interfaceName, "peers"])).not.toContain(ann.publicKey);
    ann.reconnect();
  });

  test("cuts a running connection automatically when its time window ends", async () => {
    // The connections are open before the window begins to run out, whose end a busy machine could miss.
    await enforce(content({ [ann.ipv4]: true, [bob.ipv4]: true }));
    for (const device of [ann, bob]) {
      const opens = () => device.prober.ask<boolean>("open", { stream: "window", host: app.ipv4, port: ports.web });
      // Ann's tunnel begins again, because the test before removed her peer.
      await until("the connection is open", opens);
      expect(await says(device, "window")).toBe(true);
    }
    const end = Date.now() + 3_000;
    await enforce(content({ [ann.ipv4]: [[null, end]], [bob.ipv4]: true }));
    await until("the window has ended", async () => !(await says(ann, "window")));
    expect(Date.now()).toBeGreaterThanOrEqual(end);
    expect(await says(bob, "window")).toBe(true);
  });

  test("uses the longest prefix, and the first rule for the device", async () => {
    const wide = content({ [ann.ipv4]: true, [bob.ipv4]: true }, { at: ["10.80.0.0/24"] });
    const narrow = {
      services: [{ ...web, resource: "0199aaaa-0000-7000-8000-000000000002" }],
      otherwise: "drop" as const,
    };
    await enforce({
      ...wide,
      classes: { ...wide.classes, "user/bob": { [bob.ipv4]: true } },
      resources: {
        ...wide.resources,
        "0199aaaa-0000-7000-8000-000000000002": {
          devices: [
            { action: "deny", classes: ["user/bob"] },
            { action: "allow", classes: ["*"] },
          ],
          sites: [],
        },
      },
      destinations: { ...wide.destinations, "10.80.0.12/31": narrow },
    });
    const both = [["tcp", app.ipv4, ports.web] as const, ["tcp", files.ipv4, ports.web] as const];
    await until("both targets answer", async () => (await answered(ann, both)).length === 2);
    expect(await answered(bob, both)).toEqual(both.slice(0, 1));
  });

  test("answers for names that a device may reach, after adding their addresses to the filters", async () => {
    await enforce(content({ [ann.ipv4]: true }, { at: ["app.example.com", "*.internal.example.com"] }));
    const resolve = (device: Device, name: string, type: string, server = gateway.addresses.ipv4) =>
      device.prober.ask<unknown>("resolve", { server, name, type });
    expect(await answered(ann, [["tcp", files.ipv4, ports.web]])).toEqual([]);
    expect(await resolve(ann, "app.example.com", "A")).toEqual([app.ipv4]);
    expect(await resolve(ann, "app.example.com", "AAAA")).toEqual([app.ipv6]);
    expect(await resolve(ann, "files.internal.example.com", "A", `[${gateway.addresses.ipv6}]`)).toEqual([files.ipv4]);
    const known = [
      ["tcp", app.ipv4, ports.web] as const,
      ["tcp", app.ipv6, ports.web] as const,
      ["tcp", files.ipv4, ports.web] as const,
    ];
    expect(await answered(ann, known)).toEqual(known);
    expect(await answered(bob, known)).toEqual([]);
    expect(await resolve(ann, "missing.internal.example.com", "A")).toBe("ENOTFOUND");
    expect(await resolve(ann, "other.example.com", "A")).toBe("EREFUSED");
    expect(await resolve(bob, "app.example.com", "A")).toBe("EREFUSED");
  });

  test("carries internet traffic of permitted devices, and no traffic to other networks", async () => {
    const base = world.base(gateway);
    const rules = { devices: [{ action: "allow" as const, classes: ["staff"] }] };
    await enforce({
      ...base,
      settings: { ...base.settings, internet: rules },
      classes: { staff: { [ann.ipv4]: true } },
    });
    const outside = [["tcp", internet.ipv4, ports.web] as const, ["udp", internet.ipv6, ports.web] as const];
    expect(await answered(ann, outside)).toEqual(outside);
    expect(await answered(bob, outside)).toEqual([]);
    expect(await answered(ann, [["tcp", app.ipv4, ports.web]])).toEqual([]);
  });

  test("in maintenance refuses new connections and lets running ones finish, until the end", async () => {
    const value = content({ [ann.ipv4]: true });
    await enforce(value);
    await ann.prober.ask("open", { stream: "drain", host: app.ipv4, port: ports.web });
    expect(await says(ann, "drain")).toBe(true);
    const since = Date.now();
    const drainsUntil = (end: number) =>
      enforce({ ...value, settings: { ...value.settings, drain: { since, until: end } } });
    await drainsUntil(since + 600_000);
    expect(await says(ann, "drain")).toBe(true);
    expect(await answered(ann, [["tcp", app.ipv4, ports.web]])).toEqual([]);
    await drainsUntil(Date.now() + 500);
    await until("the drain is over", async () => !(await says(ann, "drain")));
  });

  test("refuses forged, replayed or changed configurations, and keeps its current one", async () => {
    const value = content({ [ann.ipv4]: true });
    const old = world.signed(content({ [bob.ipv4]: true }), gateway);
    await enforce(value);
    const later = world.signed(content({ [bob.ipv4]: true }), gateway);
    const [, second] = world.gateways as [Gateway, Gateway];
    const { envelope } = later;
    const stranger = { ...envelope, header: { ...envelope.header, generation: envelope.header.generation + 1 } };
    const cases: readonly (readonly [unknown, string])[] = [
      [{ ...later, envelope: stranger }, "forged"],
      [world.signed(value, second), "forged"],
      [old, "replayed"],
      [{ ...later, content: value }, "wrong_root"],
      [world.signed(value, gateway, { expiresAt: Date.now() - 1 }), "expired"],
      [world.signed(value, gateway, { format: 99 }), "unknown_format"],
      [{ ...later, content: { ...value, peers: { "100.64.0.1 drop": {} } } }, "malformed"],
    ];
    for (const [given, reason] of cases) expect(await gateway.apply(given)).toMatchObject({ state: "failed", reason });
    expect(await answered(ann, [["tcp", app.ipv4, ports.web]])).toHaveLength(1);
    expect(await answered(bob, [["tcp", app.ipv4, ports.web]])).toEqual([]);
  });

  test("takes access away although the machine refuses the tunnel, and keeps the previous tunnel", async () => {
    await enforce(content({ [ann.ipv4]: true, [bob.ipv4]: true }));
    for (const device of [ann, bob])
      await device.prober.ask("open", { stream: "limited", host: app.ipv4, port: ports.web });
    const squatter = new Prober(gateway.namespace);
    await squatter.ready;
    await squatter.ask("echo", { port: 51999, hosts: ["::"] });
    const other = content({ [bob.ipv4]: true });
    const taken = {
      ...other,
      settings: { ...other.settings, interface: { ...other.settings.interface, listenPort: 51999 } },
    };
    expect(await gateway.apply(world.signed(taken, gateway))).toMatchObject({ state: "failed", reason: "not_applied" });
    expect(await says(ann, "limited")).toBe(false);
    expect(await says(bob, "limited")).toBe(true);
    expect((await gateway.report()).enforces).toBeNull();
    await enforce(other);
    expect(await says(bob, "limited")).toBe(true);
  });

  test("cuts a removed peer although the machine has IPv6 switched off", async () => {
    await enforce(content({ [ann.ipv4]: true, [bob.ipv4]: true }));
    for (const device of [ann, bob])
      await device.prober.ask("open", { stream: "no-ipv6", host: app.ipv4, port: ports.web });
    const setIpv6 = (off: 0 | 1) =>
      gateway.namespace.run("sysctl", ["-w", `net.ipv6.conf.${gateway.interfaceName}.disable_ipv6=${off}`]);
    setIpv6(1);
    const both = content({ [bob.ipv4]: true });
    const { [ann.ipv4]: _gone, ...peers } = both.peers;
    expect(await gateway.apply(world.signed({ ...both, peers }, gateway))).toMatchObject({ state: "applied" });
    expect(await says(ann, "no-ipv6")).toBe(false);
    expect(await says(bob, "no-ipv6")).toBe(true);
    setIpv6(0);
    await enforce(both);
    ann.reconnect();
  });

  test("enforces without a control plane, dead or alive, and over its restarts", async () => {
    // Nested ranges: a start creates the whole table at once.
    await enforce(content({ [ann.ipv4]: true }, { at: ["10.80.0.0/24", "10.80.0.128/25"] }));
    await ann.prober.ask("open", { stream: "restart", host: app.ipv4, port: ports.web });
    await gateway.kill();
    expect(await says(ann, "restart")).toBe(true);
    expect(await answered(bob, [["tcp", app.ipv4, ports.web]])).toEqual([]);
    const started = await gateway.start();
    expect(started.enforces).not.toBeNull();
    expect(await says(ann, "restart")).toBe(true);
    expect(await answered(ann, [["tcp", app.ipv4, ports.web]])).toHaveLength(1);
    expect(await answered(bob, [["tcp", app.ipv4, ports.web]])).toEqual([]);
  });

  test("revokes access even if the configuration cannot be stored, and reports it", async () => {
    await enforce(content({ [ann.ipv4]: true }));
    await ann.prober.ask("open", { stream: "full", host: app.ipv4, port: ports.web });
    const file = path.join(gateway.stateFolder, "configuration.json");
    await rm(file);
    await mkdir(file);
    await enforce(content({ [bob.ipv4]: true }));
    expect(await says(ann, "full")).toBe(false);
    expect(await answered(bob, [["tcp", app.ipv4, ports.web]])).toHaveLength(1);
    expect((await gateway.report()).warnings).toEqual([expect.stringContaining("cannot be stored (EISDIR")]);
    await rmdir(file);
    await enforce(content({ [ann.ipv4]: true }));
    expect((await gateway.report()).warnings).toEqual([]);
    expect(await readFile(file, "utf8")).toContain(ann.ipv4);
  });

  test.each([
    ["full", "ENOSPC", () => writeFile(path.join(gateway.stateFolder, "large"), Buffer.alloc(2 ** 20))],
    ["read-only", "EROFS", () => Promise.resolve(mountState("remount,ro"))],
  ])("keeps a revocation over a restart without a control plane while the disk is %s", async (_, problem, prevent) => {
    const probe = ["tcp", app.ipv4, ports.web] as const;
    await enforce(content({ [ann.ipv4]: true, [bob.ipv4]: true }));
    await gateway.kill();
    const kept = `${gateway.stateFolder}.kept`;
    await rename(gateway.stateFolder, kept);
    await mkdir(gateway.stateFolder);
    mountState("mode=700,size=512k");
    try {
      await cp(kept, gateway.stateFolder, { recursive: true });
      await gateway.start();
      expect(await answered(ann, [probe])).toHaveLength(1);
      await prevent().catch(() => undefined);
      await enforce(content({ [bob.ipv4]: true }));
      expect((await gateway.report()).warnings).toEqual([expect.stringMatching(`${problem}.*has a copy`)]);
      await gateway.kill();
      expect(await readFile(path.join(gateway.stateFolder, "configuration.json"), "utf8")).toContain(
        `"${ann.ipv4}":true`,
      );

      expect((await gateway.start()).enforces).not.toBeNull();
      expect(await answered(ann, [probe])).toEqual([]);
      expect(await answered(bob, [probe])).toHaveLength(1);
      expect((await gateway.report()).warnings).toEqual([expect.stringContaining(problem)]);
    } finally {
      await gateway.kill();
      execFileSync("umount", [gateway.stateFolder]);
      await rmdir(gateway.stateFolder);
      await rename(kept, gateway.stateFolder);
      await gateway.start();
    }
  });

  test("drops everything after a start with configurations that were tampered with in both folders", async () => {
    await enforce(content({ [ann.ipv4]: true }));
    await gateway.kill();
    for (const folder of [gateway.stateFolder, path.join(gateway.runtimeFolder, gateway.interfaceName)]) {
      const file = path.join(folder, "configuration.json");
      await writeFile(file, (await readFile(file, "utf8")).replace(`"${ann.ipv4}":true`, `"${bob.ipv4}":true`));
    }
    expect(await gateway.start()).toMatchObject({ enforces: null });
    for (const device of [ann, bob]) expect(await answered(device, [["tcp", app.ipv4, ports.web]])).toEqual([]);
    await enforce(content({ [ann.ipv4]: true }));
    expect(await answered(ann, [["tcp", app.ipv4, ports.web]])).toHaveLength(1);
  });

  test("drops everything once the configuration has expired, even if no agent runs", async () => {
    await enforce(content({ [ann.ipv4]: true }));
    await ann.prober.ask("open", { stream: "expiry", host: app.ipv4, port: ports.web });
    expect(await says(ann, "expiry")).toBe(true);
    const expiresAt = Date.now() + 4_000;
    await enforce(content({ [ann.ipv4]: true }), { expiresAt });
    await gateway.kill();
    await until("it has expired", async () => !(await says(ann, "expiry")));
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt);
    expect(await gateway.start()).toMatchObject({ enforces: null });
    expect(await answered(ann, [["tcp", app.ipv4, ports.web]])).toEqual([]);
  });

  describe("after another program removes the agent's state", () => {
    const probe = ["tcp", app.ipv4, ports.web] as const;

    test("applies the next configuration after its table was removed", async () => {
      await enforce(content({ [ann.ipv4]: true }));
      gateway.namespace.run("nft", ["flush", "ruleset"]);
      await enforce(content({ [bob.ipv4]: true }));
      expect(await answered(ann, [probe])).toEqual([]);
      expect(await answered(bob, [probe])).toHaveLength(1);
    });

    test.each([
      ["all tables", ["flush", "ruleset"]],
      ["the rules alone", ["flush", "table", "inet"]],
    ])("restores the filters after the removal of %s", async (_, change) => {
      await enforce(content({ [ann.ipv4]: true }));
      const ofTable = change.includes("table") ? [`gatehouse-${gateway.interfaceName}`] : [];
      gateway.log = "";
      gateway.namespace.run("nft", [...change, ...ofTable]);
      await until("the filters are back", () => gateway.log.includes("restored the filters"));
      expect(await answered(ann, [probe])).toHaveLength(1);
      expect(await answered(bob, [probe])).toEqual([]);
    });

    test("restores the table that drops everything", async () => {
      await enforce(content({ [ann.ipv4]: true }), { expiresAt: Date.now() + 4_000 });
      await until("it has expired", async () => (await answered(ann, [probe])).length === 0);
      await until("the agent knows", () => gateway.log.includes("configuration expired; dropping all traffic"));
      gateway.namespace.run("nft", ["flush", "ruleset"]);
      const tables = () => gateway.namespace.run("nft", ["list", "tables"]);
      await until("the table is there", () => tables().includes(gateway.interfaceName));
      expect(await answered(ann, [probe])).toEqual([]);
    });

    test("recreates the interface with its peers", async () => {
      await enforce(content({ [ann.ipv4]: true }));
      gateway.namespace.run("ip", ["link", "delete", "dev", gateway.interfaceName]);
      await until("the interface is back", () => {
        const links = gateway.namespace.run("ip", ["link", "show"]);
        return links.includes(gateway.interfaceName);
      });
      ann.reconnect();
      await until("it carries again", async () => (await answered(ann, [probe])).length === 1);
      expect(await answered(bob, [probe])).toEqual([]);
      expect(gateway.log).toContain("restored the interface");
    });
  });

  test("reports handshakes and bytes of its peers", async () => {
    await enforce(content({ [ann.ipv4]: true }));
    expect(await answered(ann, [["tcp", app.ipv4, ports.web]])).toHaveLength(1);
    const { peers = [], load } = await gateway.report();
    expect(load).toBeGreaterThanOrEqual(0);
    const report = peers.find(({ peer }) => peer === ann.ipv4);
    expect(report?.lastHandshake).toBeGreaterThan(0);
    expect(report?.receivedBytes).toBeGreaterThan(0);
  });
});
