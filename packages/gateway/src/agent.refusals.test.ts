/** Configurations that the machine refuses, in part or as a whole. */
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type AgentWorld, content, device, isClosed, newAgentWorld, passing } from "./testing/agent-world.ts";

describe("a gateway's agent whose machine refuses changes", () => {
  let world: AgentWorld;
  beforeEach(async () => {
    world = await newAgentWorld();
  });
  afterEach(() => world.stop());

  test("takes access away although the machine refuses the tunnel, and reports no configuration as enforced", async () => {
    const { agent, kernel } = await world.start();
    const before = world.signed(content());
    await agent.applyConfiguration(before);
    const notified: [ConfigurationContent | undefined, unknown][] = [];
    agent.onChange((enforced) => void notified.push([enforced, agent.enforces]));
    kernel.refusal = "RTNETLINK answers: No buffer space available";
    const change = world.signed({ ...content(), classes: {} });
    expect(await agent.applyConfiguration(change)).toMatchObject({
      state: "failed",
      reason: "not_applied",
      message: "RTNETLINK answers: No buffer space available",
    });
    expect(passing(kernel)).toEqual([]);
    // The filters precede the tunnel, which is the previous one again.
    expect(kernel.changes.slice(-3)).toEqual(["tunnel", "filters", "tunnel"]);
    expect(kernel.content).toEqual({ ...content(), classes: {} });
    expect(agent.enforces).toBeUndefined();
    expect((await agent.report()).enforces).toBeNull();
    expect(notified).toEqual([[{ ...content(), classes: {} }, undefined]]);
    // Neither the check nor the passage of time opens the access again.
    kernel.filters = undefined;
    await world.pass(agent, 2_000);
    expect(passing(kernel)).toEqual([]);
    // The previous configuration is applied like any other: its access was taken away.
    expect(await agent.applyConfiguration(before)).toMatchObject({ state: "applied" });
    expect(passing(kernel)).toEqual([device]);
    expect(agent.enforces?.generation).toBe(before.envelope.header.generation);
    expect(await agent.applyConfiguration(change)).toMatchObject({ state: "applied" });
    expect(passing(kernel)).toEqual([]);
    expect(agent.enforces?.generation).toBe(change.envelope.header.generation);
  });

  test("after a refused tunnel, allows only peers that had the same key and addresses before, until one is applied", async () => {
    const { agent, kernel } = await world.start();
    const { settings } = content();
    const peer = (number: number, publicKey = "A") =>
      [
        `100.64.0.${number}`,
        { kind: "device", publicKey: `${publicKey}${"A".repeat(42)}=`, ipv6: `fd64::${number}` },
      ] as const;
    const site = (...networks: string[]) =>
      ["100.64.9.1", { kind: "site", publicKey: `S${"A".repeat(42)}=`, ipv6: "fd64::9:1", networks }] as const;
    const to = (...entries: readonly (ReturnType<typeof peer> | ReturnType<typeof site>)[]): ConfigurationContent => ({
      ...content(),
      classes: {
        staff: Object.fromEntries(entries.flatMap(([key, { kind }]) => (kind === "device" ? [[key, true]] : []))),
      },
      peers: Object.fromEntries(entries),
    });
    const port = { ...settings, interface: { ...settings.interface, listenPort: 51_999 } };
    await agent.applyConfiguration(
      world.signed(to(peer(1), peer(2, "B"), peer(3, "C"), site("10.1.0.0/16", "10.2.0.0/16"))),
    );
    const refused = async (next: ConfigurationContent) => {
      kernel.refusal = "wg: Address already in use";
      expect(await agent.applyConfiguration(world.signed(next))).toMatchObject({ reason: "not_applied" });
    };
    // The second device has another key, the third one is gone, and the fourth one is new.
    const next = to(peer(1), peer(2, "X"), peer(4, "D"), site("10.2.0.0/16", "10.3.0.0/16"));
    await refused({ ...next, settings: port });
    expect(passing(kernel)).toEqual([device]);
    const held = ["100.64.0.2", "100.64.0.3", "100.64.0.4"];
    expect([...(kernel.filters?.sets.get("ended4")?.elements.keys() ?? [])].sort()).toEqual(held);
    expect([...(kernel.filters?.sets.get("sites4")?.elements.keys() ?? [])]).toEqual([
      "10.2.0.0-10.2.255.255",
      "100.64.9.1",
    ]);
    expect(kernel.content?.settings).toEqual(settings);
    expect(Object.keys(kernel.content?.peers ?? {})).toEqual([device, "100.64.9.1"]);
    // The tunnel of either configuration may be there in part: a key that returns is still not certain.
    await refused({ ...to(peer(1), peer(2, "B"), peer(3, "C")), settings: port });
    expect(passing(kernel)).toEqual([device]);
    expect(await agent.applyConfiguration(world.signed(next))).toMatchObject({ state: "applied" });
    expect(passing(kernel)).toEqual([device, "100.64.0.2", "100.64.0.4"]);
    expect(kernel.filters?.sets.has("ended4")).toBe(false);
  });

  test("retries the previous tunnel until the machine accepts it, and allows no more in the meantime", async () => {
    const { agent, kernel } = await world.start();
    await agent.applyConfiguration(world.signed(content()));
    const refusal = new Error("RTNETLINK answers: Permission denied");
    const tunnels = vi.spyOn(kernel, "tunnel").mockRejectedValueOnce(refusal).mockRejectedValueOnce(refusal);
    const other = { ...content().settings.interface, listenPort: 51_999 };
    const change = { ...content(), settings: { ...content().settings, interface: other }, classes: {} };
    expect(await agent.applyConfiguration(world.signed(change))).toMatchObject({ reason: "not_applied" });
    expect(passing(kernel)).toEqual([]);
    await world.pass(agent, 5_000);
    expect(tunnels).toHaveBeenCalledTimes(3);
    expect(kernel.content).toEqual({ ...content(), classes: {} });
    expect(passing(kernel)).toEqual([]);
  });

  test("restores the previous configuration as a whole if the kernel refuses the filters", async () => {
    const { agent, kernel } = await world.start();
    const before = world.signed(content());
    await agent.applyConfiguration(before);
    const refusal = new Error("No buffer space available");
    vi.spyOn(kernel, "filter").mockRejectedValueOnce(refusal).mockRejectedValueOnce(refusal);
    expect(await agent.applyConfiguration(world.signed({ ...content(), classes: {} }))).toMatchObject({
      state: "failed",
    });
    expect(passing(kernel)).toEqual([device]);
    expect(kernel.content).toEqual(content());
    expect(agent.enforces?.generation).toBe(before.envelope.header.generation);
  });

  test("drops everything when the earlier of both configurations expires, after a refused tunnel", async () => {
    const { agent, kernel } = await world.start();
    await agent.applyConfiguration(world.signed(content()));
    kernel.refusal = "No buffer space available";
    await agent.applyConfiguration(world.signed(content(), { expiresAt: world.clock.now() + 10_000 }));
    expect(passing(kernel)).toEqual([device]);
    await world.pass(agent, 10_000);
    expect(isClosed(kernel)).toBe(true);
  });

  test.each([true, false])(
    "retries to restore the previous state, with an earlier configuration: %s",
    async (hasEarlier) => {
      const { agent, kernel } = await world.start();
      if (hasEarlier) await agent.applyConfiguration(world.signed(content()));
      kernel.refusal = "RTNETLINK answers: No buffer space available";
      const { filter } = kernel;
      const filters = vi.spyOn(kernel, "filter");
      // At the first configuration, the filters precede the tunnel.
      if (!hasEarlier) filters.mockImplementationOnce((wanted) => filter.call(kernel, wanted));
      const refusal = new Error("No buffer space available");
      filters.mockRejectedValueOnce(refusal);
      // The filters that only take access away are refused first.
      if (hasEarlier) filters.mockRejectedValueOnce(refusal);
      const change = hasEarlier ? { ...content(), classes: {} } : content();
      expect(await agent.applyConfiguration(world.signed(change))).toMatchObject({
        state: "failed",
        reason: "not_applied",
      });
      expect(kernel.content).toEqual(change);
      if (!hasEarlier) expect(passing(kernel)).toEqual([device]);
      await world.pass(agent, 5_000);
      if (hasEarlier) expect(kernel.content).toEqual(content());
      else expect(isClosed(kernel)).toBe(true);
    },
  );
});
