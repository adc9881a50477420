/** Filters and tunnels that other programs change. */
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Agent } from "./agent.ts";
import { type AgentWorld, content, device, minuteMs, newAgentWorld, passing } from "./testing/agent-world.ts";

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

  test("reports a part that cannot be restored until it is intact, and logs it once", async () => {
    const { agent, kernel } = await world.start();
    await agent.applyConfiguration(world.signed(content()));
    const warnings = async () => (await agent.report()).warnings;
    const logged = (text: string) => world.log.filter((line) => line.includes(text)).length;
    kernel.changedParts = ["peers"];
    kernel.problems = { "listen port": "Address already in use", forwarding: "Forwarding is disabled. Run sysctl." };
    await passChecks(agent, 12);
    expect(await warnings()).toEqual([
      "The listen port of the interface gh0 cannot be restored (Address already in use).",
      "Forwarding is disabled. Run sysctl.",
      expect.stringContaining("Another program changed the peers of the interface gh0."),
    ]);
    expect(agent.enforces).toBeDefined();
    expect(logged("failed to restore")).toBe(2);
    expect(logged("failed to check")).toBe(0);
    kernel.problems = { forwarding: "Forwarding is disabled. Run sysctl." };
    await passChecks(agent, 5);
    expect(await warnings()).not.toContainEqual(expect.stringContaining("listen port"));
    expect(logged("intact again")).toBe(1);
    kernel.problems = { "listen port": "Address already in use" };
    await passChecks(agent, 5);
    expect(logged("failed to restore")).toBe(3);
    await passChecks(agent, 301);
    expect(await warnings()).toEqual([expect.stringContaining("listen port")]);
    expect(logged("failed to restore")).toBe(3);
  });

  test("reports a machine without IPv6 in one warning", async () => {
    const { agent, kernel } = await world.start();
    await agent.applyConfiguration(world.signed(content()));
    kernel.problems = { IPv6: "IPv6 is disabled on this machine." };
    await passChecks(agent, 12);
    expect((await agent.report()).warnings).toEqual([
      "Devices reach nothing over IPv6 through this gateway. IPv6 is disabled on this machine.",
    ]);
    expect(world.log.filter((line) => line.includes("IPv6"))).toEqual([
      expect.stringContaining("failed to restore a part of the tunnel; will retry part=IPv6"),
    ]);
    kernel.problems = {};
    await passChecks(agent, 5);
    expect((await agent.report()).warnings).toEqual([]);
  });

  test("checks the filters every two seconds while a part cannot be restored", async () => {
    const { agent, kernel } = await world.start();
    await agent.applyConfiguration(world.signed(content()));
    kernel.problems = { forwarding: "Forwarding is disabled." };
    await passChecks(agent, 5);
    expect((await agent.report()).warnings).toEqual(["Forwarding is disabled."]);
    kernel.filters = undefined;
    await passChecks(agent, 1);
    expect(passing(kernel)).toEqual([device]);
  });

  test("no longer reports problems of the tunnel when the configuration has expired", async () => {
    const { agent, kernel } = await world.start();
    await agent.applyConfiguration(world.signed(content(), { expiresAt: world.clock.now() + minuteMs }));
    kernel.problems = { forwarding: "Forwarding is disabled." };
    await passChecks(agent, 5);
    expect((await agent.report()).warnings).toEqual(["Forwarding is disabled."]);
    for (let checks = 0; checks < 30; checks += 1) {
      await world.pass(agent, 2_000);
      await vi.waitUntil(() => world.clock.waiting > 0);
    }
    expect(agent.content).toBeUndefined();
    expect((await agent.report()).warnings).toEqual([]);
  });

  test("reports current problems before past repairs", async () => {
    const warnings = ["Port 53 is in use."];
    const { agent, kernel } = await world.start(undefined, warnings);
    await agent.applyConfiguration(world.signed(content()));
    kernel.changedParts = ["peers"];
    kernel.problems = { forwarding: "Forwarding is disabled." };
    await world.fillDisk();
    await world.blockRuntimeFolder();
    await agent.applyConfiguration(world.signed(content()));
    await passChecks(agent, 5);
    expect((await agent.report()).warnings).toEqual([
      expect.stringContaining("cannot be stored"),
      "Port 53 is in use.",
      "Forwarding is disabled.",
      expect.stringContaining("Another program changed the peers"),
    ]);
  });
});
