/** Two gateway agents in one network namespace, on a real kernel. Their tenants' devices have the same addresses. */
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../packages/server/src/testing/until.ts";
import { app, type Device, EnforcementWorld, type Gateway, ports } from "./enforcement-world.ts";
import { obstacle } from "./namespaces.ts";

const why = obstacle();
if (why !== undefined) console.warn(`Two gateway agents are not tested on a real kernel: ${why}.`);

const pool = "100.64.0.0/10";
const resource = "0199aaaa-0000-7000-8000-000000000001";

describe.skipIf(why !== undefined)("a second gateway agent in a network namespace", () => {
  const world = new EnforcementWorld();
  let gateway: Gateway;
  let second: Gateway;
  let ann: Device;

  function content(of: Gateway, listenPort = 51820): ConfigurationContent {
    const base = world.base(of);
    const services = [{ protocol: "TCP" as const, ports: [ports.web, ports.web] as const, resource }];
    return {
      ...base,
      settings: { ...base.settings, interface: { ...base.settings.interface, listenPort } },
      classes: { "group/staff": { [ann.ipv4]: true } },
      resources: { [resource]: { devices: [{ action: "allow", classes: ["group/staff"] }], sites: [] } },
      destinations: { [`${app.ipv4}/32`]: { services, otherwise: "drop" as const } },
    };
  }

  beforeAll(async () => {
    await world.build();
    [gateway] = world.gateways as [Gateway];
    [ann] = world.devices as [Device];
    second = world.addGateway("second", 3, gateway.namespace);
  });
  afterAll(() => world.remove());

  const run = (program: string, ...args: readonly string[]) => gateway.namespace.run(program, args);
  const owner = () => /dev (\S+)/.exec(run("ip", "route", "show", "exact", pool))?.[1];
  const connections = () => run("conntrack", "-L", "-f", "ipv4", "--orig-src", pool);
  const reaches = () => ann.prober.ask("tcp", { host: app.ipv4, port: ports.web });

  test("gets no configuration while the first one has the route, and does not take it", async () => {
    // Both start before the first one has a configuration, and thus the route.
    await second.start();
    const { state, message = "" } = await gateway.apply(world.signed(content(gateway), gateway));
    expect(state, message).toBe("applied");
    expect(await second.apply(world.signed(content(second, 51_821), second))).toMatchObject({
      state: "failed",
      reason: "not_applied",
      message: expect.stringContaining(`the interface ${gateway.interfaceName} of another gateway agent`),
    });
    expect(owner()).toBe(gateway.interfaceName);
    expect(await reaches()).toBe(true);
    expect((await gateway.report()).warnings).toEqual([]);
  });

  test("does not start while the first one has the route", async () => {
    await second.kill();
    await expect(second.start()).rejects.toThrow(`ip link delete dev ${gateway.interfaceName}`);
    expect(owner()).toBe(gateway.interfaceName);
  });

  test("that takes the route closes the first one, which opens again when the second one is gone", async () => {
    expect(connections()).toContain(`dst=${app.ipv4} sport=`);
    // An earlier version takes the route without asking.
    const taker = second.interfaceName;
    run("ip", "link", "add", taker, "type", "bridge");
    run("ip", "link", "set", taker, "up");
    run("nft", "add", "table", "inet", `gatehouse-${taker}`);
    run("ip", "route", "replace", pool, "dev", taker, "proto", "71");
    const warnings = async () => (await gateway.report()).warnings ?? [];
    await until("the first one notices it", async () => (await warnings()).length > 0, 20_000);
    expect(await warnings()).toEqual([expect.stringContaining(`the interface ${taker} of another gateway agent`)]);
    expect((await gateway.report()).enforces).toBeNull();
    const table = run("nft", "list", "table", "inet", `gatehouse-${gateway.interfaceName}`);
    expect(table).toMatch(new RegExp(`iifname "${gateway.interfaceName}" counter name "dropped" drop`));
    expect(owner()).toBe(taker);
    expect(connections()).toBe("");
    run("ip", "link", "delete", taker);
    await until("the first one opens again", async () => (await gateway.report()).enforces !== null, 20_000);
    expect(owner()).toBe(gateway.interfaceName);
    expect(await reaches()).toBe(true);
    expect(await warnings()).toEqual([expect.stringContaining("changed the routes of the interface")]);
  });

  test("is not mistaken for an earlier run of the first one", async () => {
    await gateway.kill();
    expect((await gateway.start()).enforces).not.toBeNull();
    expect(owner()).toBe(gateway.interfaceName);
  });
});
