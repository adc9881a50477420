import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import { expect, test } from "vitest";
import { exampleDeviceConfiguration, exampleOutage } from "../testing/example-device-configuration.ts";
import { carriers, type Draining, drainScript, nextDraining, notDraining } from "./drain-routes.ts";
import { DrainingGateways } from "./draining-gateways.ts";
import { unknownNetwork } from "./local-network.ts";
import { type WantedTunnel, wantedTunnel } from "./wanted-tunnel.ts";

const block = "10.80.0.0/24";
const through = (publicKey: string): WantedTunnel => ({
  addresses: [],
  peers: new Map([[publicKey, { endpoint: "192.0.2.1:51820", allowedIps: [block] }]]),
  routes: [],
  bypassRoutes: [],
});

/** The first gateway drains. @returns the gateways that drain after a check */
async function drainingFirst(clock: StoppedClock) {
  const peer = { endpoint: undefined, allowedIps: [], receivedBytes: 1, lastHandshake: clock.now() };
  let sentBytes = 0;
  let drained: readonly string[] = [];
  const drainTunnel = {
    apply: async ({ routes }: Draining) => {
      drained = routes.map(({ publicKey }) => publicKey);
    },
    remove: async () => undefined,
    livePeers: async () => new Map([["first", { ...peer, sentBytes }]]),
  };
  const gateways = new DrainingGateways({
    tunnel: { livePeers: async () => new Map([["first", { ...peer, sentBytes }]]) },
    drainTunnel,
    clock,
    log: () => undefined,
  });
  const change = { applied: through("first"), wanted: through("second"), selections: new Map() };
  await gateways.duringChange(change, async () => undefined);
  return async (sends: number) => {
    sentBytes += sends;
    await gateways.endSilent(change.wanted);
    return drained;
  };
}

test.each([
  ["after five minutes", 0, [300_000]],
  ["soon after it became silent", 1_000, [5_000, 15_000]],
])("draining ends %s, even if the clock was set back", async (_, sends, passing) => {
  const clock = new StoppedClock();
  const check = await drainingFirst(clock);
  expect(await check(sends)).toEqual(["first"]);
  let left: readonly string[] = [];
  for (const ms of passing) {
    clock.setMs -= 3_600_000;
    clock.pass(ms);
    left = await check(sends);
  }
  expect(left).toEqual([]);
});

test.each(["of an expired configuration", "after a failed change"])(
  "a removal of the drain tunnel %s that the machine refuses is tried again",
  async (when) => {
    const clock = new StoppedClock();
    const peer = { endpoint: undefined, allowedIps: [], receivedBytes: 1, sentBytes: 0, lastHandshake: clock.now() };
    const livePeers = async () => new Map([["first", peer]]);
    let [isRefusing, isPresent] = [false, false];
    const refuse = () => {
      if (isRefusing) throw new Error("no memory");
    };
    const drainTunnel = {
      apply: async () => {
        isPresent = true;
        refuse();
      },
      remove: async () => {
        refuse();
        isPresent = false;
      },
      livePeers,
    };
    const gateways = new DrainingGateways({ tunnel: { livePeers }, drainTunnel, clock, log: () => undefined });
    const change = { applied: through("first"), wanted: through("second"), selections: new Map() };
    const isExpired = when === "of an expired configuration";
    isRefusing = !isExpired;
    await gateways.duringChange(change, async () => undefined);
    isRefusing = true;
    if (isExpired) await expect(gateways.remove()).rejects.toThrow("no memory");
    expect(isPresent).toBe(true);
    isRefusing = false;
    await gateways.endSilent(change.wanted);
    expect(isPresent).toBe(false);
  },
);

test("the only gateway of unserved addresses drains, and a return of the addresses starts no other draining", () => {
  const inputs = { named: new Map(), pathTo: () => "192.0.2.1:51820", controlPlane: [], local: unknownNetwork };
  const before = wantedTunnel(exampleDeviceConfiguration(), inputs);
  const [publicKey] = before.peers.keys();
  for (const outage of [exampleOutage(), { ...exampleOutage(), gateways: [] }]) {
    const after = wantedTunnel(outage, inputs);
    const draining = nextDraining(notDraining, before, after, (key) => key === publicKey, 0);
    expect(draining.routes).toMatchObject([{ publicKey, blocks: ["10.80.0.0/24", "fd80::/64"] }]);
    expect(drainScript("gatehouse-gd0d", draining, carriers(after), 5)).toContain("@draining-0-ip ");
    expect(nextDraining(draining, after, before, () => true, 1)).toEqual(notDraining);
  }
});
