/** A second gateway agent in the same network namespace, which has the route to devices. */
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Agent } from "./agent.ts";
import { type AgentWorld, content, device, isClosed, minuteMs, newAgentWorld, passing } from "./testing/agent-world.ts";

describe("a gateway's agent beside another one", () => {
  let world: AgentWorld;
  beforeEach(async () => {
    world = await newAgentWorld();
  });
  afterEach(() => world.stop());

  async function passChecks(agent: Agent, count = 1): Promise<void> {
    for (let checks = 0; checks < count; checks += 1) {
      await world.pass(agent, 2_000);
      await vi.waitUntil(() => world.clock.waiting > 1);
    }
  }
  const logged = (text: string) => world.log.filter((line) => line.includes(text)).length;

  test("drops all traffic while the other one has the route, and does not take it", async () => {
    const { agent, kernel } = await world.start();
    await agent.applyConfiguration(world.signed(content()));
    const notified: (ConfigurationContent | undefined)[] = [];
    agent.onChange((enforced) => void notified.push(enforced));
    kernel.rival = "gh1";
    kernel.changedParts = ["routes"];
    const changes = kernel.changes.length;
    await passChecks(agent, 12);
    expect(isClosed(kernel)).toBe(true);
    expect(kernel.changes.slice(changes)).toEqual(["filters", "connections"]);
    expect(agent.enforces).toBeUndefined();
    expect(notified).toEqual([undefined]);
    const { warnings, enforces } = await agent.report();
    expect(enforces).toBeNull();
    expect(warnings).toEqual([expect.stringContaining("the interface gh1 of another gateway agent")]);
    expect(logged("another gateway agent has the route to devices")).toBe(1);
    kernel.rival = "gh2";
    await passChecks(agent);
    expect((await agent.report()).warnings).toEqual([expect.stringContaining("the interface gh2")]);
    expect(notified).toEqual([undefined]);
  });

  test("opens the tunnel again when the other one has ended", async () => {
    const { agent, kernel } = await world.start();
    await agent.applyConfiguration(world.signed(content()));
    kernel.rival = "gh1";
    await passChecks(agent);
    const notified: (ConfigurationContent | undefined)[] = [];
    agent.onChange((enforced) => void notified.push(enforced));
    kernel.rival = undefined;
    const tunnel = vi.spyOn(kernel, "tunnel").mockRejectedValueOnce(new Error("the kernel refuses"));
    await passChecks(agent);
    expect(isClosed(kernel)).toBe(true);
    expect(agent.enforces).toBeUndefined();
    await world.pass(agent, 5_000);
    expect(tunnel).toHaveBeenCalledTimes(2);
    expect(passing(kernel)).toEqual([device]);
    expect(agent.enforces).toBeDefined();
    expect(notified).toEqual([content()]);
    expect((await agent.report()).warnings).toEqual([]);
  });

  test("stays closed when other programs change the filters, and when time passes", async () => {
    const { agent, kernel } = await world.start();
    const until = world.clock.now() + minuteMs;
    await agent.applyConfiguration(world.signed(content([[until, until + minuteMs]])));
    kernel.rival = "gh1";
    await passChecks(agent);
    kernel.filters = undefined;
    await passChecks(agent);
    expect(isClosed(kernel)).toBe(true);
    await passChecks(agent, 40);
    expect(isClosed(kernel)).toBe(true);
    kernel.rival = undefined;
    await passChecks(agent);
    expect(passing(kernel)).toEqual([device]);
  });

  test("refuses configurations, and opens no access that one of them has revoked", async () => {
    const { agent, kernel } = await world.start();
    kernel.rival = "gh1";
    const first = await agent.applyConfiguration(world.signed(content()));
    expect(first).toMatchObject({
      state: "failed",
      reason: "not_applied",
      message: expect.stringContaining("ip link delete dev gh1"),
    });
    expect(isClosed(kernel)).toBe(true);
    expect(kernel.changes).not.toContain("tunnel");
    kernel.rival = undefined;
    expect(await agent.applyConfiguration(world.signed(content()))).toMatchObject({ state: "applied" });
    expect(passing(kernel)).toEqual([device]);
    kernel.rival = "gh1";
    const revoked = world.signed({ ...content(), classes: {} });
    expect(await agent.applyConfiguration(revoked)).toMatchObject({ state: "failed", reason: "not_applied" });
    expect(isClosed(kernel)).toBe(true);
    kernel.rival = undefined;
    await passChecks(agent);
    expect(passing(kernel)).toEqual([]);
    expect(agent.enforces).toBeUndefined();
    expect(await agent.applyConfiguration(revoked)).toMatchObject({ state: "applied" });
  });
});
