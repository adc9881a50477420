/** Filters and tunnels that other programs change. */
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Agent } from "./agent.ts";
import { type AgentWorld, content, device, newAgentWorld, passing } from "./testing/agent-world.ts";

describe("a gateway's agent beside other programs", () => {
  let world: AgentWorld;
  beforeEach(async () => {
    world = await newAgentWorld();
  });
  afterEach(() => world.stop());

  async function passChecks(agent: Agent, count: number): Promise<void> {
    for (let checks = 0; checks < count; checks += 1) {
      await world.pass(agent, 2_000);
      await vi.waitUntil(() => world.clock.waiting > 1);
    }
  }

  test("no longer reports a configuration as applied if the kernel refuses to restore changed filters", async () => {
    const { agent, kernel } = await world.start();
    const notified: (ConfigurationContent | undefined)[] = [];
    agent.onChange((enforced) => void notified.push(enforced));
    await agent.applyConfiguration(world.signed(content()));
    expect((await agent.report()).warnings).toEqual([]);
    kernel.filters = undefined;
    vi.spyOn(kernel, "filter").mockRejectedValueOnce(new Error("the kernel refuses"));
    await world.pass(agent, 2_000);
    await vi.waitUntil(() => world.clock.waiting > 1);
    expect(notified).toEqual([content(), undefined]);
    expect(agent.enforces).toBeUndefined();
    expect(agent.configuration?.content).toEqual(content());
    await world.pass(agent, 5_000);
    expect(passing(kernel)).toEqual([device]);
    expect(agent.enforces).toBeDefined();
    expect(notified).toEqual([content(), undefined, content()]);
    expect((await agent.report()).warnings).toEqual([expect.stringContaining("Another program changed")]);
  });

  test("does not report a configuration as applied while its filters are missing", async () => {
    const { agent, kernel } = await world.start();
    const configuration = world.signed(content());
    await agent.applyConfiguration(configuration);
    kernel.filters = undefined;
    const filter = vi.spyOn(kernel, "filter").mockRejectedValue(new Error("the kernel refuses"));
    await world.pass(agent, 2_000);
    await vi.waitUntil(() => world.clock.waiting > 1);
    expect(await agent.applyConfiguration(configuration)).toMatchObject({ state: "failed", reason: "not_applied" });
    filter.mockRestore();
    expect(await agent.applyConfiguration(configuration)).toMatchObject({ state: "applied" });
    expect(passing(kernel)).toEqual([device]);
  });

  test("restores filters and a tunnel that another program removed", async () => {
    const { agent, kernel } = await world.start();
    await agent.applyConfiguration(world.signed(content()));
    kernel.filters = undefined;
    await world.pass(agent, 2_000);
    expect(passing(kernel)).toEqual([device]);
    expect(world.log).toContainEqual(expect.stringContaining("nft flush ruleset"));
    await vi.waitUntil(() => world.clock.waiting > 1);
    kernel.content = undefined;
    await world.pass(agent, 2_000);
    expect(kernel.content).toEqual(content());
    expect(world.log).toContain("restored the interface, which another program removed interface=gh0");
    expect((await agent.report()).warnings).toEqual([
      expect.stringContaining("Another program changed the nftables table of the agent."),
      expect.stringContaining("Another program removed the interface gh0."),
    ]);
  });

  test("reports the parts of the tunnel that another program changed, for ten minutes", async () => {
    const { agent, kernel } = await world.start();
    await agent.applyConfiguration(world.signed(content()));
    await passChecks(agent, 5);
    expect((await agent.report()).warnings).toEqual([]);
    kernel.changedParts = ["peers", "routes"];
    await passChecks(agent, 5);
    const { warnings } = await agent.report();
    expect(warnings).toEqual([
      expect.stringMatching(/^Another program changed the peers of the interface gh0. The agent restored them at 20/),
      expect.stringMatching(/^Another program changed the routes of the interface gh0. The agent restored them at 20/),
    ]);
    expect(world.log).toContain("restored the peers, which another program changed interface=gh0");
    expect(world.log).toContain("restored the routes, which another program changed interface=gh0");
    kernel.changedParts = ["private key", "listen port", "forwarding"];
    await passChecks(agent, 5);
    expect((await agent.report()).warnings.slice(2)).toEqual([
      expect.stringMatching(
        /^Another program changed the private key of the interface gh0. The agent restored it at 20/,
      ),
      expect.stringMatching(
        /^Another program changed the listen port of the interface gh0. The agent restored it at 20/,
      ),
      expect.stringMatching(/^Another program disabled forwarding between interfaces. The agent enabled it at 20/),
    ]);
    await passChecks(agent, 301);
    expect((await agent.report()).warnings).toEqual([]);
  });

  test("reports a restored part even if the machine refuses a later one", async () => {
    const { agent, kernel } = await world.start();
    await agent.applyConfiguration(world.signed(content()));
    kernel.changedParts = ["peers"];
    kernel.refusal = "no memory";
    await passChecks(agent, 5);
    expect((await agent.report()).warnings).toEqual([
      expect.stringContaining("Another program changed the peers of the interface gh0."),
    ]);
  });
});
