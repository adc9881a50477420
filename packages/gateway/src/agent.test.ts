/** The agent on a machine that only remembers, at a time that the test passes. On real packets: test/enforcement. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import type {
  ConfigurationContent,
  ConfigurationHeader,
  Membership,
} from "@gatehouse/agent-protocol/gateway/configuration";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Agent } from "./agent.ts";
import { StateFolder } from "./configuration/state-folder.ts";
import { closedTable } from "./enforcement/traffic-rules.ts";
import { EndpointHosts } from "./names/endpoint-hosts.ts";
import { ConfigurationSigner } from "./testing/configuration-signer.ts";
import { exampleConfiguration } from "./testing/example-configuration.ts";
import { RememberedKernel } from "./testing/remembered-kernel.ts";

const gateway = randomUUID();
const device = "100.64.0.1";
const minuteMs = 60_000;

/** The example, in which a device is in the class that may reach something. */
function content(membership: Membership = true): ConfigurationContent {
  return { ...exampleConfiguration().content, classes: { staff: { [device]: membership } } };
}

/** Which devices may pass at the moment. */
function passing({ filters }: RememberedKernel): readonly string[] {
  const classes = [...(filters?.sets ?? [])].filter(([name]) => name.startsWith("class_") && name.endsWith("_4"));
  return classes.flatMap(([, { elements }]) => [...elements.keys()]);
}

function isClosed({ filters }: RememberedKernel): boolean {
  return filters !== undefined && filters.sets.size === 0;
}

describe("a gateway's agent", () => {
  let state: string;
  let signer: ConfigurationSigner;
  let clock: StoppedClock;
  let log: string[];
  const running: Agent[] = [];

  beforeEach(async () => {
    state = path.join(await mkdtemp(path.join(tmpdir(), "gatehouse-agent-")), "state");
    signer = new ConfigurationSigner();
    clock = new StoppedClock();
    log = [];
  });
  afterEach(async () => {
    for (const agent of running.splice(0)) await agent.stop();
    await rm(path.dirname(state), { recursive: true, force: true });
  });

  /** One that starts on a machine that may be as an earlier one left it. */
  async function start(kernel = new RememberedKernel()) {
    const { wireGuard } = kernel;
    const agent = new Agent({
      kernel,
      wireGuard,
      carriage: { interfaceName: wireGuard.name, keepsSource: false },
      folder: new StateFolder(state),
      names: new ResolvedNames(),
      hosts: new EndpointHosts(),
      warnings: () => [],
      clock,
      log: (message) => void log.push(message),
    });
    running.push(agent);
    await agent.start(signer.signingKey);
    return { agent, kernel };
  }

  const signed = (of: ConfigurationContent, changes: Partial<ConfigurationHeader> = {}) =>
    signer.signed(gateway, of, { issuedAt: clock.now(), expiresAt: clock.now() + 60 * minuteMs, ...changes });

  /** What timers call for is done in turn: after an answer to something else, it has been done. */
  const pass = async (agent: Agent, ms: number) => {
    clock.pass(ms);
    await agent.applyConfiguration("nothing");
  };

  test("is closed before it is told anything, and has its filters before its tunnel", async () => {
    const { agent, kernel } = await start();
    expect(kernel.filters).toEqual(closedTable("gh0"));
    expect(agent.enforces).toBeUndefined();
    expect(await agent.applyConfiguration(signed(content()))).toMatchObject({ state: "applied" });
    expect(kernel.changes).toEqual(["filters", "filters", "tunnel"]);
    expect(passing(kernel)).toEqual([device]);
  });

  test("goes on after a restart without a control plane, and takes nothing older", async () => {
    const old = signed(content());
    const first = await start();
    const current = signed(content());
    expect(await first.agent.applyConfiguration(current)).toMatchObject({ state: "applied" });
    await first.agent.stop();
    const { agent, kernel } = await start();
    expect(passing(kernel)).toEqual([device]);
    expect(agent.enforces?.generation).toBe(current.envelope.header.generation);
    expect(await agent.applyConfiguration(old)).toMatchObject({ state: "failed", reason: "replayed" });
    expect(passing(kernel)).toEqual([device]);
  });

  test("tries again after a restart where the machine refuses what was kept, and is closed until then", async () => {
    const first = await start();
    await first.agent.applyConfiguration(signed(content()));
    await first.agent.stop();
    const machine = new RememberedKernel();
    machine.refusal = "wireguard-go does not serve the interface gh0";
    const { agent, kernel } = await start(machine);
    expect(isClosed(kernel)).toBe(true);
    expect(log).toContainEqual(expect.stringContaining("wireguard-go does not serve the interface gh0"));
    for (let look = 0; look < 3; look++) {
      expect(isClosed(kernel)).toBe(true);
      await pass(agent, 2_000);
      await vi.waitUntil(() => clock.waiting > 0);
    }
    expect(kernel.content).toEqual(content());
    expect(passing(kernel)).toEqual([device]);
    expect(log).toContainEqual(expect.stringContaining("kept from before"));
  });

  test("enforces what there was before where the machine refuses a change", async () => {
    const { agent, kernel } = await start();
    const before = signed(content());
    await agent.applyConfiguration(before);
    kernel.refusal = "RTNETLINK answers: No buffer space available";
    const change = signed({ ...content(), classes: {} });
    expect(await agent.applyConfiguration(change)).toMatchObject({
      state: "failed",
      reason: "not_applied",
      message: "RTNETLINK answers: No buffer space available",
    });
    expect(passing(kernel)).toEqual([device]);
    expect(kernel.content).toEqual(content());
    expect(agent.enforces?.generation).toBe(before.envelope.header.generation);
    expect(await agent.applyConfiguration(change)).toMatchObject({ state: "applied" });
    expect(passing(kernel)).toEqual([]);
  });

  test("opens and closes windows of time by itself", async () => {
    const { agent, kernel } = await start();
    const now = clock.now();
    await agent.applyConfiguration(signed(content([[now + 10_000, now + 20_000]])));
    expect(passing(kernel)).toEqual([]);
    await pass(agent, 10_000);
    expect(passing(kernel)).toEqual([device]);
    await pass(agent, 9_999);
    expect(passing(kernel)).toEqual([device]);
    await pass(agent, 1);
    expect(passing(kernel)).toEqual([]);
  });

  test.each([
    ["that it waited for", 0],
    ["although somebody sets the clock, which timers do not notice", 59 * minuteMs],
  ])("drops everything at the end of a configuration, %s", async (_, setMs) => {
    const { agent, kernel } = await start();
    const told: (ConfigurationContent | undefined)[] = [];
    agent.onChange((enforced) => void told.push(enforced));
    await agent.applyConfiguration(signed(content()));
    expect(told).toEqual([content()]);
    clock.setMs = setMs;
    for (let left = 60 * minuteMs - setMs; left > 0; left -= 30_000) {
      expect(passing(kernel)).toEqual([device]);
      await pass(agent, 30_000);
    }
    expect(kernel.filters).toEqual(closedTable("gh0"));
    expect(agent.enforces).toBeUndefined();
    expect(told).toEqual([content(), undefined]);
  });

  test("puts back filters and tunnel that another program takes away", async () => {
    const { agent, kernel } = await start();
    await agent.applyConfiguration(signed(content()));
    kernel.filters = undefined;
    await pass(agent, 2_000);
    expect(passing(kernel)).toEqual([device]);
    expect(log).toContainEqual(expect.stringContaining("nft flush ruleset"));
    await vi.waitUntil(() => clock.waiting > 1);
    kernel.content = undefined;
    await pass(agent, 2_000);
    expect(kernel.content).toEqual(content());
    expect(log).toContain("The interface gh0 had gone: it is back.");
  });

  test("enforces what the disk does not take, and says so until it does", async () => {
    const { agent, kernel } = await start();
    await rm(state, { recursive: true });
    expect(await agent.applyConfiguration(signed(content()))).toMatchObject({ state: "applied" });
    expect(passing(kernel)).toEqual([device]);
    expect((await agent.report()).warnings).toEqual([expect.stringContaining("cannot be kept")]);
    await new StateFolder(state).publicKey();
    for (let look = 0; look < 30; look++) {
      await pass(agent, 2_000);
      await vi.waitUntil(() => clock.waiting > 1);
    }
    expect((await agent.report()).warnings).toEqual([]);
    expect(await new StateFolder(state).configuration()).toMatchObject({ configuration: { content: content() } });
  });
});
