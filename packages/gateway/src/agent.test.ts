import { rm } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { StateFolder } from "./configuration/state-folder.ts";
import { closedTable } from "./enforcement/base-chains.ts";
import {
  type AgentWorld,
  content,
  device,
  gateway,
  isClosed,
  minuteMs,
  newAgentWorld,
  passing,
} from "./testing/agent-world.ts";
import { ConfigurationSigner } from "./testing/configuration-signer.ts";
import { RecordingKernel } from "./testing/recording-kernel.ts";

describe("a gateway's agent", () => {
  let world: AgentWorld;
  beforeEach(async () => {
    world = await newAgentWorld();
  });
  afterEach(() => world.stop());

  test("drops everything before the first configuration, and applies filters before the tunnel", async () => {
    const { agent, kernel } = await world.start();
    expect(kernel.filters).toEqual(closedTable("gh0"));
    expect(agent.enforces).toBeUndefined();
    expect(await agent.applyConfiguration(world.signed(content()))).toMatchObject({ state: "applied" });
    expect(kernel.changes).toEqual(["filters", "filters", "tunnel"]);
    expect(passing(kernel)).toEqual([device]);
  });

  test("resumes after a restart without a control plane, and refuses older configurations", async () => {
    const old = world.signed(content());
    const first = await world.start();
    const current = world.signed(content());
    expect(await first.agent.applyConfiguration(current)).toMatchObject({ state: "applied" });
    await first.agent.stop();
    const { agent, kernel } = await world.start();
    expect(passing(kernel)).toEqual([device]);
    expect(agent.enforces?.generation).toBe(current.envelope.header.generation);
    expect(await agent.applyConfiguration(old)).toMatchObject({ state: "failed", reason: "replayed" });
    expect(passing(kernel)).toEqual([device]);
  });

  test("follows a rotated signing key, keeps its stored configuration, and refuses the former key", async () => {
    const first = await world.start();
    await first.agent.applyConfiguration(world.signed(content()));
    const next = new ConfigurationSigner(world.signer.tenant);
    const last = new ConfigurationSigner(world.signer.tenant);
    const handovers = [world.signer.handOver(next), next.handOver(last)];
    await expect(first.agent.trustSigningKey(last.signingKey, handovers.slice(1))).rejects.toThrow(
      "another signing key",
    );
    await first.agent.trustSigningKey(last.signingKey, handovers);
    await first.agent.stop();

    // A first key that is given at each start is not offered again by the control plane.
    const second = await world.start();
    expect(passing(second.kernel)).toEqual([device]);
    expect(await second.agent.applyConfiguration(world.signed(content()))).toMatchObject({ reason: "forged" });
    const times = { issuedAt: world.clock.now(), expiresAt: world.clock.now() + 60 * minuteMs, generation: 10 };
    const later = last.signed(gateway, content(), times);
    expect(await second.agent.applyConfiguration(later)).toMatchObject({ state: "applied" });
    await second.agent.stop();
    expect(passing((await world.start()).kernel)).toEqual([device]);
    const trust = await new StateFolder(world.state).trust();
    expect(trust).toMatchObject({ signingKey: last.signingKey, formerKeys: [world.signer.signingKey] });
    expect(trust?.latestSignedBy).toBeUndefined();
  });

  test("retries after a restart if the machine refuses the stored configuration, and drops everything until then", async () => {
    const first = await world.start();
    await first.agent.applyConfiguration(world.signed(content()));
    await first.agent.stop();
    const machine = new RecordingKernel();
    machine.refusal = "wireguard-go does not serve the interface gh0";
    const { agent, kernel } = await world.start(machine);
    expect(isClosed(kernel)).toBe(true);
    expect(world.log).toContainEqual(expect.stringContaining("wireguard-go does not serve the interface gh0"));
    for (let check = 0; check < 3; check++) {
      expect(isClosed(kernel)).toBe(true);
      await world.pass(agent, 2_000);
      await vi.waitUntil(() => world.clock.waiting > 0);
    }
    expect(kernel.content).toEqual(content());
    expect(passing(kernel)).toEqual([device]);
    expect(world.log).toContainEqual(expect.stringContaining("resumed the stored configuration"));
  });

  test("keeps a signing key that was rotated while the stored configuration is retried", async () => {
    const first = await world.start();
    await first.agent.applyConfiguration(world.signed(content()));
    await first.agent.stop();
    const machine = new RecordingKernel();
    machine.refusal = "no such device";
    const { agent, kernel } = await world.start(machine);
    let accept = () => {};
    const accepted = new Promise<void>((resolve) => {
      accept = resolve;
    });
    const tunnel = kernel.tunnel.bind(kernel);
    const tunnels = vi.spyOn(kernel, "tunnel").mockImplementationOnce(async (wanted) => {
      await accepted;
      await tunnel(wanted);
    });
    for (let check = 0; check < 3; check++) {
      await vi.waitUntil(() => world.clock.waiting > 0);
      world.clock.pass(2_000);
    }
    await vi.waitUntil(() => tunnels.mock.calls.length > 0);
    const next = new ConfigurationSigner(world.signer.tenant);
    const stored = vi.spyOn(StateFolder.prototype, "storeTrust").mockResolvedValueOnce();
    const trusted = agent.trustSigningKey(next.signingKey, [world.signer.handOver(next)]);
    await setImmediate();
    accept();
    await trusted;
    expect(stored).toHaveBeenCalledWith(expect.objectContaining({ signingKey: next.signingKey }));
    stored.mockRestore();
    expect(passing(kernel)).toEqual([device]);
    const times = { issuedAt: world.clock.now(), expiresAt: world.clock.now() + 60 * minuteMs, generation: 10 };
    const later = next.signed(gateway, { ...content(), classes: {} }, times);
    expect(await agent.applyConfiguration(later)).toMatchObject({ state: "applied" });
  });

  test("does not start, and leaves no timer, if the kernel refuses all filters", async () => {
    const first = await world.start();
    await first.agent.applyConfiguration(world.signed(content()));
    await first.agent.stop();
    const machine = new RecordingKernel();
    vi.spyOn(machine, "filter").mockRejectedValue(new Error("nft is not installed"));
    await expect(world.start(machine)).rejects.toThrow("nft is not installed");
    expect(world.clock.waiting).toBe(0);
  });

  test("enforces a configuration that cannot be stored, and reports a warning until it is", async () => {
    const { agent, kernel } = await world.start();
    await rm(world.state, { recursive: true });
    expect(await agent.applyConfiguration(world.signed(content()))).toMatchObject({ state: "applied" });
    expect(passing(kernel)).toEqual([device]);
    expect((await agent.report()).warnings).toEqual([expect.stringContaining("cannot be stored")]);
    await new StateFolder(world.state).publicKey();
    for (let check = 0; check < 30; check++) {
      await world.pass(agent, 2_000);
      await vi.waitUntil(() => world.clock.waiting > 1);
    }
    expect((await agent.report()).warnings).toEqual([]);
    expect(await new StateFolder(world.state).configuration()).toMatchObject({ configuration: { content: content() } });
  });
});
