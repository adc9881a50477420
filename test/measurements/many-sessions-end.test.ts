/**
 * Measures what the end of many device sessions in the same minute costs a gateway: its agent with 1,000 peers of
 * WireGuard, and the traffic of one device that keeps its session and of one that does not.
 *
 *     npm run bench:device-session-ends
 */
import { randomBytes } from "node:crypto";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../packages/server/src/testing/until.ts";
import { app, type Device, EnforcementWorld, type Gateway, ports } from "../enforcement/enforcement-world.ts";
import { obstacle } from "../enforcement/namespaces.ts";

const why = obstacle();
if (why !== undefined) console.warn(`The ends of sessions are not measured: ${why}.`);

const count = Number(process.env.GATEHOUSE_BENCH_DEVICES ?? 1_000);
/** The sessions end at different seconds of this time. */
const minuteS = Number(process.env.GATEHOUSE_BENCH_SECONDS ?? 60);
/** Until the first session ends, the agent applies the configuration. */
const headStartS = 20;
const resource = "0199aaaa-0000-7000-8000-000000000001";
const print = (line: string) => process.stdout.write(`${line}\n`);

describe.skipIf(why !== undefined)("a gateway with many sessions that end in the same minute", () => {
  const world = new EnforcementWorld();
  let gateway: Gateway;
  let ann: Device;
  let bob: Device;

  beforeAll(async () => {
    await world.build();
    [gateway] = world.gateways as [Gateway, Gateway];
    [ann, bob] = world.devices as [Device, Device];
  });
  afterAll(() => world.remove());

  /** Ann's session ends with the others', Bob's does not. */
  function content(ends: readonly number[], annEnds: number): ConfigurationContent {
    const base = world.base(gateway);
    const others = ends.map((end, index) => {
      const [high, low] = [1 + Math.floor(index / 200), 1 + (index % 200)];
      const peer = {
        kind: "device" as const,
        publicKey: randomBytes(32).toString("base64"),
        ipv6: `fd64::${high}:${low}`,
        until: end,
      };
      return [`100.64.${high}.${low}`, peer] as const;
    });
    const addresses = [ann.ipv4, bob.ipv4, ...others.map(([address]) => address)];
    const annPeer = base.peers[ann.ipv4];
    if (annPeer?.kind !== "device") throw new Error("Ann's device is a peer");
    const service = { protocol: "TCP" as const, ports: [ports.web, ports.web] as [number, number], resource };
    return {
      ...base,
      peers: { ...base.peers, ...Object.fromEntries(others), [ann.ipv4]: { ...annPeer, until: annEnds } },
      classes: { "group/staff": Object.fromEntries(addresses.map((address) => [address, true as const])) },
      resources: { [resource]: { devices: [{ action: "allow", classes: ["group/staff"] }], sites: [] } },
      destinations: { [`${app.ipv4}/32`]: { services: [service], otherwise: "drop" } },
    };
  }

  const peers = () => gateway.namespace.run("wg", ["show", gateway.interfaceName, "peers"]).trim().split("\n").length;
  const reaches = (device: Device) => device.prober.ask("tcp", { host: app.ipv4, port: ports.web });

  test("ends all of them in time, with few program starts", async () => {
    const firstEnd = (Math.floor(Date.now() / 1_000) + headStartS) * 1_000;
    const ends = Array.from({ length: count }, (_, index) => firstEnd + (index % minuteS) * 1_000);
    const lastEnd = firstEnd + (minuteS - 1) * 1_000;
    const annEnds = firstEnd + Math.floor(minuteS / 2) * 1_000;
    const appliedFrom = Date.now();
    const { state, message = "" } = await gateway.apply(world.signed(content(ends, annEnds), gateway));
    expect(state, message).toBe("applied");
    print(`applied ${count} peers in ${Date.now() - appliedFrom} ms`);
    expect(peers()).toBe(count + world.devices.length);
    expect([await reaches(ann), await reaches(bob)]).toEqual([true, true]);
    const before = await gateway.report();
    expect(Date.now(), "the machine is too slow for the head start").toBeLessThan(firstEnd);
    const stream = { stream: "ann", host: app.ipv4, port: ports.web };
    expect(await ann.prober.ask("open", stream)).toBe(true);

    let annLastAt = 0;
    while (Date.now() < annEnds + 5_000) {
      const askedAt = Date.now();
      if (!(await ann.prober.ask("say", { stream: "ann", text: String(askedAt) }))) break;
      annLastAt = Date.now();
    }
    expect(await reaches(bob)).toBe(true);
    await until("only the devices without an end are peers", () => peers() === world.devices.length - 1, 120_000);
    const lateMs = Date.now() - lastEnd;
    const after = await gateway.report();
    expect(await reaches(bob)).toBe(true);
    expect(await reaches(ann)).toBe(false);

    const starts = Object.entries(after.started ?? {})
      .map(([program, times]) => `${program} ${times - (before.started?.[program] ?? 0)}`)
      .join(", ");
    const seconds = (after.processorSeconds ?? 0) - (before.processorSeconds ?? 0);
    print(`${count} sessions ended within ${minuteS} s`);
    print(`the last peer was gone ${lateMs} ms after the end of its session`);
    print(`Ann's last packet was ${annLastAt - annEnds} ms after the end of her session`);
    print(`program starts: ${starts}; processor time of the agent and its programs: ${seconds.toFixed(1)} s`);
    expect(lateMs).toBeLessThan(10_000);
    // A constant number for each second in which sessions end, and for each check of the filters.
    const total = Object.values(after.started ?? {}).reduce((sum, times) => sum + times, 0);
    const earlier = Object.values(before.started ?? {}).reduce((sum, times) => sum + times, 0);
    expect(total - earlier).toBeLessThan(12 * (minuteS + headStartS));
  });
});
