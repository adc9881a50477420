/** The agent of a device whose network changes. */
import type { Clock } from "@gatehouse/agent-core/clock";
import type { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { waitLimitMs } from "../../../test/wait-limit.ts";
import { type DeviceAgentWorld, startDeviceAgentWorld } from "./testing/device-agent-world.ts";
import { exampleDeviceConfiguration } from "./testing/example-device-configuration.ts";
import type { RecordingTunnel } from "./testing/recording-tunnel.ts";
import { unservedKey } from "./tunnel/unserved-peer.ts";

const content = exampleDeviceConfiguration();

/** @returns a promise, and a function that resolves it */
function gate() {
  let go = () => {};
  const promise = new Promise<void>((resolve) => {
    go = resolve;
  });
  return { promise, go: () => go() };
}

describe("the agent of a device in a network whose addresses are those of names", () => {
  let world: DeviceAgentWorld;

  beforeEach(async () => {
    world = await startDeviceAgentWorld();
  });
  afterEach(() => world.end());

  const learn = (names: ResolvedNames, clock: Clock, address: string) =>
    names.learn("git.internal.example.com", [address], 60_000, clock.now(), true);
  const bypassed = ({ wanted }: RecordingTunnel) => [
    ...new Set(wanted?.bypassRoutes.filter(({ port }) => port === 53).map(({ address }) => address)),
  ];

  test("keeps DNS outside the tunnel, including queries to another network's resolver", async () => {
    const clock = new StoppedClock();
    const { agent, tunnel, names } = await world.start({ clock });
    await world.controlPlane.send(world.controlPlane.signed(content));
    learn(names, clock, "192.168.1.1");
    learn(names, clock, "10.7.0.53");
    await agent.namesChanged();
    expect(bypassed(tunnel)).toEqual(["192.168.1.1"]);
    world.network = { resolvers: new Set(["10.7.0.53"]), routers: new Set(["10.7.0.53"]) };
    expect(agent.isClosedToNames("10.7.0.53")).toBe(false);
    // A question is about to be sent to the new resolver.
    await agent.useResolvers(["10.7.0.53"]);
    expect(bypassed(tunnel)).toEqual(["10.7.0.53"]);
    expect(agent.isClosedToNames("10.7.0.53")).toBe(true);
    const carriers = [...(tunnel.wanted?.peers ?? [])].filter(([, peer]) => peer.allowedIps.includes("10.7.0.53/32"));
    expect(carriers.map(([key]) => key)).toEqual([unservedKey]);
  });

  test("keeps DNS outside the tunnel if the resolver is in an unserved block of a configuration without names", async () => {
    const { agent, tunnel } = await world.start();
    world.network = { resolvers: new Set(["10.80.0.53"]), routers: new Set() };
    const unserved = { addresses: ["10.80.0.0/24"], names: [] };
    await world.controlPlane.send(world.controlPlane.signed({ ...content, gateways: [], unserved }));
    expect(bypassed(tunnel)).toEqual(["10.80.0.53"]);
    world.network = { resolvers: new Set(["10.80.0.54"]), routers: new Set() };
    await agent.useResolvers(["10.80.0.54"]);
    expect(bypassed(tunnel)).toEqual(["10.80.0.54"]);
  });

  /** Lets the next change of the tunnel wait. @returns `isWaiting`, and a function that continues the change */
  function nextChange(tunnel: RecordingTunnel) {
    const { promise, go } = gate();
    const state = { isWaiting: false };
    const apply = tunnel.apply.bind(tunnel);
    tunnel.apply = async (wanted) => {
      tunnel.apply = apply;
      state.isWaiting = true;
      await promise;
      await apply(wanted);
    };
    return { state, go };
  }
  const movedTo = { resolvers: new Set(["10.7.0.53"]), routers: new Set<string>() };

  /** An agent with the address of a name in a network that its machine has just joined. */
  async function moved() {
    const clock = new StoppedClock();
    const started = await world.start({ clock });
    await world.controlPlane.send(world.controlPlane.signed(content));
    learn(started.names, clock, "10.7.0.53");
    await started.agent.namesChanged();
    world.network = movedTo;
    return { ...started, clock };
  }

  test.each(["a question", "a check"])("lets questions wait for the rules of a network that %s finds", async (by) => {
    const { agent, tunnel, clock } = await moved();
    const { state: change, go } = nextChange(tunnel);
    const first = by === "a question" ? agent.useResolvers(["10.7.0.53"]) : undefined;
    await vi.waitUntil(
      () => {
        if (first === undefined) clock.pass(5_000);
        return change.isWaiting;
      },
      { timeout: waitLimitMs, interval: 20 },
    );
    const bypassedThen = agent.useResolvers(["10.7.0.53"]).then(() => bypassed(tunnel));
    go();
    expect(await bypassedThen).toEqual(["10.7.0.53"]);
    await first;
  });

  test("tries the rules of another network again before a question is sent, if the machine refuses them", async () => {
    const { agent, tunnel } = await moved();
    tunnel.refusal = "no memory";
    await expect(agent.useResolvers(["10.7.0.53"])).rejects.toThrow("no memory");
    await agent.useResolvers(["10.7.0.53"]);
    expect(bypassed(tunnel)).toEqual(["10.7.0.53"]);
  });

  test("applies a configuration although the machine refused the rules of another network for the former one", async () => {
    const { agent, tunnel } = await moved();
    tunnel.refusal = "no memory";
    const next = { ...content, gateways: content.gateways.slice(0, 1) };
    expect(await world.controlPlane.send(world.controlPlane.signed(next))).toMatchObject({ type: "applied" });
    expect(tunnel.wanted?.peers.size).toBe(1);
    expect(bypassed(tunnel)).toEqual(["10.7.0.53"]);
    expect(world.log.join("\n")).toContain('failed to adapt the tunnel to the network; will retry err="no memory"');
    // The new configuration was applied for the new network, so questions need no other change.
    const applies = vi.spyOn(tunnel, "apply");
    await agent.useResolvers(["10.7.0.53"]);
    expect(applies).not.toHaveBeenCalled();
  });

  test.each(["a question", "a check", "a new name"])(
    "resolves the endpoints of gateways again in a network that %s finds",
    async (by) => {
      const clock = new StoppedClock();
      let address = "192.0.2.9";
      const { agent, tunnel } = await world.start({ clock, lookUp: async () => [address] });
      await world.controlPlane.send(world.controlPlane.signed(content));
      const check = async () => {
        await vi.waitUntil(() => clock.waiting > 0);
        clock.pass(5_000);
        await agent.performed();
      };
      await check();
      world.network = movedTo;
      address = "192.0.2.10";
      if (by === "a question") await agent.useResolvers(["10.7.0.53"]);
      if (by === "a new name") await agent.namesChanged();
      if (by === "a check") await check();
      await check();
      expect(tunnel.wanted?.peers.get(content.gateways[1]?.publicKey ?? "")?.endpoint).toBe("192.0.2.10:51820");
      // Until the next minute, the machine is not reconciled once more.
      const applies = vi.spyOn(tunnel, "apply");
      await check();
      expect(applies).not.toHaveBeenCalled();
    },
  );

  test("lets no question wait for the resolution of gateways, which may be this question", async () => {
    const clock = new StoppedClock();
    let isResolving = false;
    const { promise: resolved, go: finish } = gate();
    const { agent, tunnel, names } = await world.start({
      clock,
      lookUp: async () => {
        isResolving = true;
        if (world.network === movedTo) await resolved;
        return ["192.0.2.10"];
      },
    });
    await world.controlPlane.send(world.controlPlane.signed(content));
    learn(names, clock, "10.7.0.53");
    await agent.namesChanged();
    clock.time += 120_000;
    isResolving = false;
    const changed = agent.namesChanged();
    // The machine moves while the agent resolves the endpoint of a gateway with the resolvers of the new network.
    world.network = movedTo;
    await vi.waitUntil(() => isResolving, { timeout: waitLimitMs });
    await agent.useResolvers(["10.7.0.53"]);
    expect(bypassed(tunnel)).toEqual(["10.7.0.53"]);
    finish();
    await changed;
    expect(bypassed(tunnel)).toEqual(["10.7.0.53"]);
  });

  test("reads a new network once", async () => {
    const { agent, tunnel, clock } = await moved();
    const before = world.reads;
    const live = vi.spyOn(tunnel, "livePeers");
    clock.pass(5_000);
    await agent.performed();
    expect(live).toHaveBeenCalledOnce();
    expect(bypassed(tunnel)).toEqual(["10.7.0.53"]);
    expect(world.reads - before).toBe(1);
  });

  test("notices another network without a question", async () => {
    const clock = new StoppedClock();
    const { agent, tunnel, names } = await world.start({ clock });
    await world.controlPlane.send(world.controlPlane.signed(content));
    learn(names, clock, "10.7.0.1");
    await agent.namesChanged();
    world.network = { resolvers: new Set(), routers: new Set(["10.7.0.1"]) };
    await vi.waitUntil(
      () => {
        clock.pass(5_000);
        return bypassed(tunnel).includes("10.7.0.1");
      },
      { timeout: waitLimitMs, interval: 20 },
    );
    // Connections to the address must not reach the router instead.
    expect(tunnel.wanted?.routes).toContain("10.7.0.1/32");
  });

  test("applies the addresses of a burst of names together", async () => {
    const clock = new StoppedClock();
    const { agent, tunnel, names } = await world.start({ clock });
    await world.controlPlane.send(world.controlPlane.signed(content));
    let changes = 0;
    const apply = tunnel.apply.bind(tunnel);
    tunnel.apply = (wanted) => {
      changes += 1;
      return apply(wanted);
    };
    const addresses = Array.from({ length: 20 }, (_, index) => `10.90.0.${index + 1}`);
    await Promise.all(
      addresses.map((address) => {
        learn(names, clock, address);
        return agent.namesChanged();
      }),
    );
    expect(tunnel.wanted?.routes).toEqual(expect.arrayContaining(addresses.map((address) => `${address}/32`)));
    expect(changes).toBeLessThanOrEqual(2);
  });
});
