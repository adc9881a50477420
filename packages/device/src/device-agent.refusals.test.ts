/** The agent of a device whose machine refuses changes. */
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
});
