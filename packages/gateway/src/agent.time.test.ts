/** Ends of sessions, time windows and configurations. */
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { closedTable } from "./enforcement/base-chains.ts";
import { type AgentWorld, content, device, isClosed, minuteMs, newAgentWorld, passing } from "./testing/agent-world.ts";

describe("a gateway's agent, as time passes", () => {
  let world: AgentWorld;
  beforeEach(async () => {
    world = await newAgentWorld();
  });
  afterEach(() => world.stop());

  test("opens and closes time windows", async () => {
    const { agent, kernel } = await world.start();
    const now = world.clock.now();
    await agent.applyConfiguration(world.signed(content([[now + 10_000, now + 20_000]])));
    expect(passing(kernel)).toEqual([]);
    await world.pass(agent, 10_000);
    expect(passing(kernel)).toEqual([device]);
    await world.pass(agent, 9_999);
    expect(passing(kernel)).toEqual([device]);
    await world.pass(agent, 1);
    expect(passing(kernel)).toEqual([]);
  });

  test("ends the session of a device by its own clock, even after a restart", async () => {
    const ended = world.clock.now() + 10_000;
    const { "100.64.0.1": peer } = content().peers;
    if (peer?.kind !== "device") throw new Error("The example has a device.");
    const limited = { ...content(), peers: { [device]: { ...peer, until: ended } } };
    const first = await world.start();
    await first.agent.applyConfiguration(world.signed(limited));
    expect([...(first.kernel.filters?.sets.keys() ?? [])]).not.toContain("ended4");
    await world.pass(first.agent, 9_999);
    expect(passing(first.kernel)).toEqual([device]);
    expect(first.kernel.content?.peers).toHaveProperty([device]);
    await world.pass(first.agent, 1);
    const expectEnded = ({ kernel }: typeof first) => {
      expect(passing(kernel)).toEqual([]);
      expect(kernel.content?.peers).toEqual({});
      const { sets, chains } = kernel.filters ?? closedTable("gh0");
      expect([...(sets.get("devices4")?.elements.keys() ?? [])]).toEqual([]);
      expect([...(sets.get("ended4")?.elements.keys() ?? [])]).toEqual([device]);
      expect([...(sets.get("ended6")?.elements.keys() ?? [])]).toEqual(["fd64::1"]);
      expect(chains.get("traffic")).toContain("ct original ip saddr @ended4 goto refused");
    };
    expectEnded(first);
    // Repairs do not bring the peer back.
    first.kernel.content = undefined;
    await world.pass(first.agent, 2_000);
    expect(first.kernel.content).toMatchObject({ peers: {} });
    await first.agent.stop();
    expectEnded(await world.start());
  });

  test("ends sessions in the filters although the machine refuses to remove the peers", async () => {
    const { "100.64.0.1": peer } = content().peers;
    if (peer?.kind !== "device") throw new Error("The example has a device.");
    const { agent, kernel } = await world.start();
    const until = world.clock.now() + 10_000;
    await agent.applyConfiguration(world.signed({ ...content(), peers: { [device]: { ...peer, until } } }));
    kernel.refusal = "RTNETLINK answers: No buffer space available";
    await world.pass(agent, 10_000);
    expect(passing(kernel)).toEqual([]);
    expect([...(kernel.filters?.sets.get("ended4")?.elements.keys() ?? [])]).toEqual([device]);
  });

  /** The example configuration, with a device whose session ends. */
  function endingAt(until: number): ConfigurationContent {
    const { [device]: peer } = content().peers;
    if (peer?.kind !== "device") throw new Error("The example has a device.");
    return { ...content(), peers: { [device]: { ...peer, until } } };
  }

  test.each([
    ["a session", (until: number) => endingAt(until), []],
    ["a window", (until: number) => content([[null, until]]), [device]],
  ])("notices the end of %s that falls while a configuration is being applied", async (_, ending, peers) => {
    const until = world.clock.now() + 10_000;
    const { agent, kernel } = await world.start();
    vi.spyOn(kernel, "tunnel").mockImplementationOnce(async (wanted) => {
      kernel.content = wanted;
      world.clock.time = until;
    });
    expect(await agent.applyConfiguration(world.signed(ending(until)))).toMatchObject({ state: "applied" });
    expect(passing(kernel)).toEqual([device]);
    await world.pass(agent, 0);
    expect(passing(kernel)).toEqual([]);
    expect(Object.keys(kernel.content?.peers ?? {})).toEqual(peers);
  });

  test("notices ends that fall while the machine refuses another configuration", async () => {
    const until = world.clock.now() + 10_000;
    const { agent, kernel } = await world.start();
    await agent.applyConfiguration(world.signed(endingAt(until)));
    const next = world.signed({ ...endingAt(until), classes: {} });
    vi.spyOn(kernel, "tunnel").mockImplementationOnce(async () => {
      world.clock.time = until;
      throw new Error("RTNETLINK answers: No buffer space available");
    });
    expect(await agent.applyConfiguration(next)).toMatchObject({ state: "failed", reason: "not_applied" });
    await world.pass(agent, 0);
    expect(passing(kernel)).toEqual([]);
    expect(kernel.content?.peers).toEqual({});
  });

  test("applies the time again after the clock was set back", async () => {
    const { agent, kernel } = await world.start();
    const now = world.clock.now();
    await agent.applyConfiguration(world.signed(content([[null, now + 10_000]])));
    await world.pass(agent, 10_000);
    expect(passing(kernel)).toEqual([]);
    world.clock.setMs = -minuteMs;
    await world.pass(agent, 30_000);
    expect(passing(kernel)).toEqual([device]);
  });

  test.each(["filter", "tunnel"] as const)(
    "retries ends of sessions until the kernel accepts them: %s",
    async (part) => {
      const { agent, kernel } = await world.start();
      await agent.applyConfiguration(world.signed(endingAt(world.clock.now() + 10_000)));
      const refusal = new Error("No buffer space available");
      const change = vi.spyOn(kernel, part).mockRejectedValueOnce(refusal).mockRejectedValueOnce(refusal);
      await world.pass(agent, 10_000);
      for (let retry = 1; retry <= 2; retry++) {
        expect(change).toHaveBeenCalledTimes(retry);
        expect(passing(kernel)).toEqual(part === "filter" ? [device] : []);
        expect(Object.keys(kernel.content?.peers ?? {})).toEqual([device]);
        await world.pass(agent, 5_000);
      }
      expect(passing(kernel)).toEqual([]);
      expect(kernel.content?.peers).toEqual({});
      // Nothing is left to retry.
      expect(change).toHaveBeenCalledTimes(3);
      await world.pass(agent, 5_000);
      expect(change).toHaveBeenCalledTimes(3);
    },
  );

  test("retries to drop everything after a configuration expired", async () => {
    const { agent, kernel } = await world.start();
    await agent.applyConfiguration(world.signed(content(), { expiresAt: world.clock.now() + 10_000 }));
    vi.spyOn(kernel, "filter").mockRejectedValueOnce(new Error("No buffer space available"));
    await world.pass(agent, 10_000);
    expect(isClosed(kernel)).toBe(false);
    await world.pass(agent, 5_000);
    expect(isClosed(kernel)).toBe(true);
    expect(agent.enforces).toBeUndefined();
  });

  test.each([
    ["when its timer fires", 0],
    ["even after the clock was set, which timers do not notice", 59 * minuteMs],
  ])("drops everything when a configuration expires, %s", async (_, setMs) => {
    const { agent, kernel } = await world.start();
    const notified: (ConfigurationContent | undefined)[] = [];
    agent.onChange((enforced) => void notified.push(enforced));
    await agent.applyConfiguration(world.signed(content()));
    expect(notified).toEqual([content()]);
    world.clock.setMs = setMs;
    for (let left = 60 * minuteMs - setMs; left > 0; left -= 30_000) {
      expect(passing(kernel)).toEqual([device]);
      await world.pass(agent, 30_000);
    }
    expect(kernel.filters).toEqual(closedTable("gh0"));
    expect(agent.enforces).toBeUndefined();
    expect(notified).toEqual([content(), undefined]);
  });
});
