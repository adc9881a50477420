/** The agent of a device whose machine refuses changes. */
import { setImmediate } from "node:timers/promises";
import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type DeviceAgentWorld, startDeviceAgentWorld } from "./testing/device-agent-world.ts";
import { exampleDeviceConfiguration } from "./testing/example-device-configuration.ts";

const content = exampleDeviceConfiguration();

describe("a device's agent whose machine refuses changes", () => {
  let world: DeviceAgentWorld;

  beforeEach(async () => {
    world = await startDeviceAgentWorld();
  });
  afterEach(() => world.end());

  test("removes the tunnel of an expired configuration again until the machine accepts it", async () => {
    const clock = new StoppedClock();
    const { agent, tunnel } = await world.start({ clock });
    await world.controlPlane.send(world.controlPlane.signed(content, { expiresAt: clock.time + 5_000 }));
    const removals = vi.spyOn(tunnel, "remove").mockRejectedValueOnce(new Error("no memory"));
    clock.pass(5_000);
    await agent.performed();
    expect(agent.configuration).toBeUndefined();
    expect(tunnel.wanted).toBeDefined();
    expect(world.log.join("\n")).toContain('failed to check the tunnel; will retry err="no memory"');
    await vi.waitUntil(() => clock.waiting > 0);
    clock.pass(5_000);
    await agent.performed();
    expect(tunnel.wanted).toBeUndefined();
    expect(removals).toHaveBeenCalledTimes(2);
    // A removed tunnel is not removed again.
    await vi.waitUntil(() => clock.waiting > 0);
    clock.pass(5_000);
    await agent.performed();
    expect(removals).toHaveBeenCalledTimes(2);
  });

  test("removes the parts of a refused first configuration again until the machine accepts it", async () => {
    const clock = new StoppedClock();
    const { agent, tunnel } = await world.start({ clock });
    tunnel.refusal = "no such device";
    const removals = vi.spyOn(tunnel, "remove").mockRejectedValueOnce(new Error("no memory"));
    expect(await world.controlPlane.send(world.controlPlane.signed(content))).toMatchObject({ reason: "not_applied" });
    expect(removals).toHaveBeenCalledTimes(1);
    clock.pass(5_000);
    await agent.performed();
    expect(removals).toHaveBeenCalledTimes(2);
  });

  test("keeps a signing key that was rotated while the stored configuration is retried", async () => {
    const first = await world.start();
    await world.controlPlane.send(world.controlPlane.signed(content));
    await first.stop();
    const clock = new StoppedClock();
    const { agent, tunnel, folder } = await world.start({ links: false, clock, refusal: "no such device" });
    const apply = tunnel.apply.bind(tunnel);
    let accept = () => {};
    const accepted = new Promise<void>((resolve) => {
      accept = resolve;
    });
    const applies = vi.spyOn(tunnel, "apply").mockImplementationOnce(async (wanted) => {
      await accepted;
      await apply(wanted);
    });
    clock.pass(5_000);
    await vi.waitUntil(() => applies.mock.calls.length > 0);
    world.controlPlane.rotate();
    const { tenant, signingKey, handovers } = world.controlPlane;
    const stored = vi.spyOn(folder, "storeTrust").mockResolvedValue();
    const trusted = agent.trust(tenant, signingKey, handovers);
    await setImmediate();
    accept();
    await trusted;
    await agent.performed();
    expect(stored).toHaveBeenCalledWith(expect.objectContaining({ signingKey }));
    expect(tunnel.wanted).toBeDefined();
    expect(agent.pinned?.signingKey).toBe(signingKey);
    const next = world.controlPlane.signed({ ...content, gateways: [] });
    expect(await agent.applyConfiguration(next)).toMatchObject({ state: "applied" });
  });
});
