/** A second gateway agent in the same network namespace, which has the route to devices. */
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Agent } from "./agent.ts";
import { type AgentWorld, content, device, isClosed, minuteMs, newAgentWorld, passing } from "./testing/agent-world.ts";
import { RecordingKernel } from "./testing/recording-kernel.ts";

describe("a gateway's agent beside another one", () => {
  let world: AgentWorld;
  beforeEach(async () => {
    world = await newAgentWorld();
  });
  afterEach(() => world.stop());

  /** Without an enforced configuration, the next check is the only timer. */
  async function passChecks(agent: Agent, count = 1): Promise<void> {
    for (let checks = 0; checks < count; checks += 1) {
      await world.pass(agent, 2_000);
      await vi.waitUntil(() => world.clock.waiting > (agent.content === undefined ? 0 : 1));
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
    kernel.problems = { routes: "Network is unreachable" };
    await passChecks(agent, 20);
    expect(isClosed(kernel)).toBe(true);
    expect(agent.enforces).toBeUndefined();
    const failed = "The routes of the interface gh0 cannot be restored (Network is unreachable).";
    expect((await agent.report()).warnings).toEqual([expect.stringContaining("is dropped until its routes"), failed]);
    expect(await agent.applyConfiguration(world.signed(content()))).toMatchObject({
      reason: "not_applied",
      message: expect.stringContaining(failed),
    });
    expect(logged("no other gateway agent has the route")).toBe(1);
    expect(logged("failed to")).toBe(1);
    kernel.problems = {};
    await passChecks(agent);
    expect(passing(kernel)).toEqual([device]);
    expect(notified).toEqual([content()]);
    expect((await agent.report()).warnings).toEqual([]);
    expect(await agent.applyConfiguration(world.signed(content()))).toMatchObject({ state: "applied" });
  });

  test("opens the tunnel again although another part of it cannot be restored", async () => {
    const { agent, kernel } = await world.start();
    await agent.applyConfiguration(world.signed(content()));
    kernel.rival = "gh1";
    await passChecks(agent);
    kernel.rival = undefined;
    kernel.problems = { "listen port": "Address already in use" };
    vi.spyOn(kernel, "tunnel").mockRejectedValue(new Error("Address already in use"));
    await passChecks(agent, 20);
    expect(passing(kernel)).toEqual([device]);
    expect(agent.enforces).toBeDefined();
    expect((await agent.report()).warnings).toEqual([expect.stringContaining("The listen port of the interface gh0")]);
    expect(logged("failed to")).toBe(1);
  });

  test("closes the tunnel as soon as the kernel permits it, and reports the loss of the route until then", async () => {
    const { agent, kernel } = await world.start();
    await agent.applyConfiguration(world.signed(content()));
    const notified: (ConfigurationContent | undefined)[] = [];
    agent.onChange((enforced) => void notified.push(enforced));
    kernel.rival = "gh1";
    const filter = vi.spyOn(kernel, "filter").mockRejectedValue(new Error("the kernel refuses"));
    await passChecks(agent, 3);
    expect(passing(kernel)).toEqual([device]);
    expect(agent.enforces).toBeUndefined();
    expect(notified).toEqual([undefined]);
    expect((await agent.report()).warnings).toEqual([expect.stringContaining("the interface gh1")]);
    expect(kernel.changes).not.toContain("connections");
    filter.mockRestore();
    // The interval is longer after a failure.
    await passChecks(agent, 3);
    expect(isClosed(kernel)).toBe(true);
    expect(kernel.changes.filter((change) => change === "connections")).toHaveLength(1);
    expect(notified).toEqual([undefined]);
  });

  test("reports connections that cannot be ended until they are", async () => {
    const { agent, kernel } = await world.start();
    await agent.applyConfiguration(world.signed(content()));
    kernel.rival = "gh1";
    const refusal = new Error("conntrack: not installed (package conntrack)");
    const end = vi.spyOn(kernel, "endConnections").mockRejectedValue(refusal);
    await passChecks(agent, 12);
    expect(isClosed(kernel)).toBe(true);
    expect((await agent.report()).warnings).toEqual([
      expect.stringContaining("the interface gh1"),
      expect.stringContaining("(conntrack: not installed (package conntrack))"),
    ]);
    expect(logged("failed to end the connections")).toBe(1);
    end.mockRestore();
    await passChecks(agent, 3);
    expect((await agent.report()).warnings).toEqual([expect.stringContaining("the interface gh1")]);
    expect(kernel.changes.filter((change) => change === "connections")).toHaveLength(1);
  });

  test("tries the stored configuration once while the other one has the route, and resumes it afterwards", async () => {
    const before = await world.start();
    await before.agent.applyConfiguration(world.signed(content()));
    await before.agent.stop();
    const machine = new RecordingKernel();
    machine.rival = "gh1";
    const { agent, kernel } = await world.start(machine);
    await passChecks(agent, 20);
    expect(isClosed(kernel)).toBe(true);
    expect(logged("refused a configuration reason=not_applied")).toBe(1);
    kernel.rival = undefined;
    await passChecks(agent, 4);
    expect(passing(kernel)).toEqual([device]);
    expect(agent.enforces).toBeDefined();
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
