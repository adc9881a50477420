/** The agent with a kernel that only records, on the test's clock. Tests with real packets are in test/enforcement. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { HostResolver } from "@gatehouse/agent-core/dns/host-resolver";
import { formatLogLine } from "@gatehouse/agent-core/log";
import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import type {
  ConfigurationContent,
  ConfigurationHeader,
  Membership,
} from "@gatehouse/agent-protocol/gateway/configuration";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Agent } from "./agent.ts";
import { StateFolder } from "./configuration/state-folder.ts";
import { closedTable } from "./enforcement/base-chains.ts";
import { AnswerFilter } from "./names/answer-filter.ts";
import { EndpointHosts } from "./names/endpoint-hosts.ts";
import { LearnedNames } from "./names/learned-names.ts";
import { ConfigurationSigner } from "./testing/configuration-signer.ts";
import { exampleConfiguration } from "./testing/example-configuration.ts";
import { RecordingKernel } from "./testing/recording-kernel.ts";

const gateway = randomUUID();
const device = "100.64.0.1";
const minuteMs = 60_000;

/** The example configuration, with a device in the class that has access. */
function content(membership: Membership = true): ConfigurationContent {
  return { ...exampleConfiguration().content, classes: { staff: { [device]: membership } } };
}

/** Returns the devices that may pass now. */
function passing({ filters }: RecordingKernel): readonly string[] {
  const classes = [...(filters?.sets ?? [])].filter(([name]) => name.startsWith("class_") && name.endsWith("_4"));
  return classes.flatMap(([, { elements }]) => [...elements.keys()]);
}

function isClosed({ filters }: RecordingKernel): boolean {
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

  /** Starts an agent, on a new machine or on one with the state of an earlier agent. */
  async function start(kernel = new RecordingKernel()) {
    const { wireGuard } = kernel;
    const agent = new Agent({
      kernel,
      wireGuard,
      forwarding: { interfaceName: wireGuard.name, keepsSource: false },
      folder: new StateFolder(state),
      names: new LearnedNames(),
      filter: new AnswerFilter({ own: () => [], controlPlane: () => [] }),
      hosts: new EndpointHosts(new HostResolver(clock)),
      warnings: () => [],
      clock,
      log: (message, fields) => void log.push(formatLogLine(message, fields)),
    });
    running.push(agent);
    await agent.start(signer.signingKey);
    return { agent, kernel };
  }

  const signed = (of: ConfigurationContent, changes: Partial<ConfigurationHeader> = {}) =>
    signer.signed(gateway, of, { issuedAt: clock.now(), expiresAt: clock.now() + 60 * minuteMs, ...changes });

  /** Passes time, and waits for the work of the timers: the queue answers a later request after it. */
  const pass = async (agent: Agent, ms: number) => {
    clock.pass(ms);
    await agent.applyConfiguration("nothing");
  };

  test("drops everything before the first configuration, and applies filters before the tunnel", async () => {
    const { agent, kernel } = await start();
    expect(kernel.filters).toEqual(closedTable("gh0"));
    expect(agent.enforces).toBeUndefined();
    expect(await agent.applyConfiguration(signed(content()))).toMatchObject({ state: "applied" });
    expect(kernel.changes).toEqual(["filters", "filters", "tunnel"]);
    expect(passing(kernel)).toEqual([device]);
  });

  test("resumes after a restart without a control plane, and refuses older configurations", async () => {
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

  test("follows a rotated signing key, keeps its stored configuration, and refuses the former key", async () => {
    const first = await start();
    await first.agent.applyConfiguration(signed(content()));
    const next = new ConfigurationSigner(signer.tenant);
    const last = new ConfigurationSigner(signer.tenant);
    const handovers = [signer.handOver(next), next.handOver(last)];
    await expect(first.agent.trustSigningKey(last.signingKey, handovers.slice(1))).rejects.toThrow(
      "another signing key",
    );
    await first.agent.trustSigningKey(last.signingKey, handovers);
    await first.agent.stop();

    // A first key that is given at each start is not offered again by the control plane.
    const second = await start();
    expect(passing(second.kernel)).toEqual([device]);
    expect(await second.agent.applyConfiguration(signed(content()))).toMatchObject({ reason: "forged" });
    const times = { issuedAt: clock.now(), expiresAt: clock.now() + 60 * minuteMs, generation: 10 };
    const later = last.signed(gateway, content(), times);
    expect(await second.agent.applyConfiguration(later)).toMatchObject({ state: "applied" });
    await second.agent.stop();
    expect(passing((await start()).kernel)).toEqual([device]);
    const trust = await new StateFolder(state).trust();
    expect(trust).toMatchObject({ signingKey: last.signingKey, formerKeys: [signer.signingKey] });
    expect(trust?.latestSignedBy).toBeUndefined();
  });

  test("retries after a restart if the machine refuses the stored configuration, and drops everything until then", async () => {
    const first = await start();
    await first.agent.applyConfiguration(signed(content()));
    await first.agent.stop();
    const machine = new RecordingKernel();
    machine.refusal = "wireguard-go does not serve the interface gh0";
    const { agent, kernel } = await start(machine);
    expect(isClosed(kernel)).toBe(true);
    expect(log).toContainEqual(expect.stringContaining("wireguard-go does not serve the interface gh0"));
    for (let check = 0; check < 3; check++) {
      expect(isClosed(kernel)).toBe(true);
      await pass(agent, 2_000);
      await vi.waitUntil(() => clock.waiting > 0);
    }
    expect(kernel.content).toEqual(content());
    expect(passing(kernel)).toEqual([device]);
    expect(log).toContainEqual(expect.stringContaining("resumed the stored configuration"));
  });

  test("does not start, and leaves no timer, if the kernel refuses all filters", async () => {
    const first = await start();
    await first.agent.applyConfiguration(signed(content()));
    await first.agent.stop();
    const machine = new RecordingKernel();
    vi.spyOn(machine, "filter").mockRejectedValue(new Error("nft is not installed"));
    await expect(start(machine)).rejects.toThrow("nft is not installed");
    expect(clock.waiting).toBe(0);
  });

  test("takes access away although the machine refuses the tunnel, and reports no configuration as enforced", async () => {
    const { agent, kernel } = await start();
    const before = signed(content());
    await agent.applyConfiguration(before);
    const notified: [ConfigurationContent | undefined, unknown][] = [];
    agent.onChange((enforced) => void notified.push([enforced, agent.enforces]));
    kernel.refusal = "RTNETLINK answers: No buffer space available";
    const change = signed({ ...content(), classes: {} });
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
    await pass(agent, 2_000);
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
    const { agent, kernel } = await start();
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
    await agent.applyConfiguration(signed(to(peer(1), peer(2, "B"), peer(3, "C"), site("10.1.0.0/16", "10.2.0.0/16"))));
    const refused = async (next: ConfigurationContent) => {
      kernel.refusal = "wg: Address already in use";
      expect(await agent.applyConfiguration(signed(next))).toMatchObject({ reason: "not_applied" });
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
    expect(await agent.applyConfiguration(signed(next))).toMatchObject({ state: "applied" });
    expect(passing(kernel)).toEqual([device, "100.64.0.2", "100.64.0.4"]);
    expect(kernel.filters?.sets.has("ended4")).toBe(false);
  });

  test("retries the previous tunnel until the machine accepts it, and allows no more in the meantime", async () => {
    const { agent, kernel } = await start();
    await agent.applyConfiguration(signed(content()));
    const refusal = new Error("RTNETLINK answers: Permission denied");
    const tunnels = vi.spyOn(kernel, "tunnel").mockRejectedValueOnce(refusal).mockRejectedValueOnce(refusal);
    const other = { ...content().settings.interface, listenPort: 51_999 };
    const change = { ...content(), settings: { ...content().settings, interface: other }, classes: {} };
    expect(await agent.applyConfiguration(signed(change))).toMatchObject({ reason: "not_applied" });
    expect(passing(kernel)).toEqual([]);
    await pass(agent, 5_000);
    expect(tunnels).toHaveBeenCalledTimes(3);
    expect(kernel.content).toEqual({ ...content(), classes: {} });
    expect(passing(kernel)).toEqual([]);
  });

  test("restores the previous configuration as a whole if the kernel refuses the filters", async () => {
    const { agent, kernel } = await start();
    const before = signed(content());
    await agent.applyConfiguration(before);
    const refusal = new Error("No buffer space available");
    vi.spyOn(kernel, "filter").mockRejectedValueOnce(refusal).mockRejectedValueOnce(refusal);
    expect(await agent.applyConfiguration(signed({ ...content(), classes: {} }))).toMatchObject({ state: "failed" });
    expect(passing(kernel)).toEqual([device]);
    expect(kernel.content).toEqual(content());
    expect(agent.enforces?.generation).toBe(before.envelope.header.generation);
  });

  test("drops everything when the earlier of both configurations expires, after a refused tunnel", async () => {
    const { agent, kernel } = await start();
    await agent.applyConfiguration(signed(content()));
    kernel.refusal = "No buffer space available";
    await agent.applyConfiguration(signed(content(), { expiresAt: clock.now() + 10_000 }));
    expect(passing(kernel)).toEqual([device]);
    await pass(agent, 10_000);
    expect(isClosed(kernel)).toBe(true);
  });

  test("opens and closes time windows", async () => {
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

  test("ends the session of a device by its own clock, even after a restart", async () => {
    const ended = clock.now() + 10_000;
    const { "100.64.0.1": peer } = content().peers;
    if (peer?.kind !== "device") throw new Error("The example has a device.");
    const limited = { ...content(), peers: { [device]: { ...peer, until: ended } } };
    const first = await start();
    await first.agent.applyConfiguration(signed(limited));
    expect([...(first.kernel.filters?.sets.keys() ?? [])]).not.toContain("ended4");
    await pass(first.agent, 9_999);
    expect(passing(first.kernel)).toEqual([device]);
    expect(first.kernel.content?.peers).toHaveProperty([device]);
    await pass(first.agent, 1);
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
    await pass(first.agent, 2_000);
    expect(first.kernel.content).toMatchObject({ peers: {} });
    await first.agent.stop();
    expectEnded(await start());
  });

  test("ends sessions in the filters although the machine refuses to remove the peers", async () => {
    const { "100.64.0.1": peer } = content().peers;
    if (peer?.kind !== "device") throw new Error("The example has a device.");
    const { agent, kernel } = await start();
    const until = clock.now() + 10_000;
    await agent.applyConfiguration(signed({ ...content(), peers: { [device]: { ...peer, until } } }));
    kernel.refusal = "RTNETLINK answers: No buffer space available";
    await pass(agent, 10_000);
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
    const until = clock.now() + 10_000;
    const { agent, kernel } = await start();
    vi.spyOn(kernel, "tunnel").mockImplementationOnce(async (wanted) => {
      kernel.content = wanted;
      clock.time = until;
    });
    expect(await agent.applyConfiguration(signed(ending(until)))).toMatchObject({ state: "applied" });
    expect(passing(kernel)).toEqual([device]);
    await pass(agent, 0);
    expect(passing(kernel)).toEqual([]);
    expect(Object.keys(kernel.content?.peers ?? {})).toEqual(peers);
  });

  test("notices ends that fall while the machine refuses another configuration", async () => {
    const until = clock.now() + 10_000;
    const { agent, kernel } = await start();
    await agent.applyConfiguration(signed(endingAt(until)));
    const next = signed({ ...endingAt(until), classes: {} });
    vi.spyOn(kernel, "tunnel").mockImplementationOnce(async () => {
      clock.time = until;
      throw new Error("RTNETLINK answers: No buffer space available");
    });
    expect(await agent.applyConfiguration(next)).toMatchObject({ state: "failed", reason: "not_applied" });
    await pass(agent, 0);
    expect(passing(kernel)).toEqual([]);
    expect(kernel.content?.peers).toEqual({});
  });

  test("applies the time again after the clock was set back", async () => {
    const { agent, kernel } = await start();
    const now = clock.now();
    await agent.applyConfiguration(signed(content([[null, now + 10_000]])));
    await pass(agent, 10_000);
    expect(passing(kernel)).toEqual([]);
    clock.setMs = -minuteMs;
    await pass(agent, 30_000);
    expect(passing(kernel)).toEqual([device]);
  });

  test.each(["filter", "tunnel"] as const)(
    "retries ends of sessions until the kernel accepts them: %s",
    async (part) => {
      const { agent, kernel } = await start();
      await agent.applyConfiguration(signed(endingAt(clock.now() + 10_000)));
      const refusal = new Error("No buffer space available");
      const change = vi.spyOn(kernel, part).mockRejectedValueOnce(refusal).mockRejectedValueOnce(refusal);
      await pass(agent, 10_000);
      for (let retry = 1; retry <= 2; retry++) {
        expect(change).toHaveBeenCalledTimes(retry);
        expect(passing(kernel)).toEqual(part === "filter" ? [device] : []);
        expect(Object.keys(kernel.content?.peers ?? {})).toEqual([device]);
        await pass(agent, 5_000);
      }
      expect(passing(kernel)).toEqual([]);
      expect(kernel.content?.peers).toEqual({});
      // Nothing is left to retry.
      expect(change).toHaveBeenCalledTimes(3);
      await pass(agent, 5_000);
      expect(change).toHaveBeenCalledTimes(3);
    },
  );

  test("retries to drop everything after a configuration expired", async () => {
    const { agent, kernel } = await start();
    await agent.applyConfiguration(signed(content(), { expiresAt: clock.now() + 10_000 }));
    vi.spyOn(kernel, "filter").mockRejectedValueOnce(new Error("No buffer space available"));
    await pass(agent, 10_000);
    expect(isClosed(kernel)).toBe(false);
    await pass(agent, 5_000);
    expect(isClosed(kernel)).toBe(true);
    expect(agent.enforces).toBeUndefined();
  });

  test.each([true, false])(
    "retries to restore the previous state, with an earlier configuration: %s",
    async (hasEarlier) => {
      const { agent, kernel } = await start();
      if (hasEarlier) await agent.applyConfiguration(signed(content()));
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
      expect(await agent.applyConfiguration(signed(change))).toMatchObject({ state: "failed", reason: "not_applied" });
      expect(kernel.content).toEqual(change);
      if (!hasEarlier) expect(passing(kernel)).toEqual([device]);
      await pass(agent, 5_000);
      if (hasEarlier) expect(kernel.content).toEqual(content());
      else expect(isClosed(kernel)).toBe(true);
    },
  );

  test.each([
    ["when its timer fires", 0],
    ["even after the clock was set, which timers do not notice", 59 * minuteMs],
  ])("drops everything when a configuration expires, %s", async (_, setMs) => {
    const { agent, kernel } = await start();
    const notified: (ConfigurationContent | undefined)[] = [];
    agent.onChange((enforced) => void notified.push(enforced));
    await agent.applyConfiguration(signed(content()));
    expect(notified).toEqual([content()]);
    clock.setMs = setMs;
    for (let left = 60 * minuteMs - setMs; left > 0; left -= 30_000) {
      expect(passing(kernel)).toEqual([device]);
      await pass(agent, 30_000);
    }
    expect(kernel.filters).toEqual(closedTable("gh0"));
    expect(agent.enforces).toBeUndefined();
    expect(notified).toEqual([content(), undefined]);
  });

  test("no longer reports a configuration as applied if the kernel refuses to restore changed filters", async () => {
    const { agent, kernel } = await start();
    const notified: (ConfigurationContent | undefined)[] = [];
    agent.onChange((enforced) => void notified.push(enforced));
    await agent.applyConfiguration(signed(content()));
    expect((await agent.report()).warnings).toEqual([]);
    kernel.filters = undefined;
    vi.spyOn(kernel, "filter").mockRejectedValueOnce(new Error("the kernel refuses"));
    await pass(agent, 2_000);
    await vi.waitUntil(() => clock.waiting > 1);
    expect(notified).toEqual([content(), undefined]);
    expect(agent.enforces).toBeUndefined();
    expect(agent.configuration?.content).toEqual(content());
    await pass(agent, 5_000);
    expect(passing(kernel)).toEqual([device]);
    expect(agent.enforces).toBeDefined();
    expect(notified).toEqual([content(), undefined, content()]);
    expect((await agent.report()).warnings).toEqual([expect.stringContaining("Another program changed")]);
  });

  test("does not report a configuration as applied while its filters are missing", async () => {
    const { agent, kernel } = await start();
    const configuration = signed(content());
    await agent.applyConfiguration(configuration);
    kernel.filters = undefined;
    const filter = vi.spyOn(kernel, "filter").mockRejectedValue(new Error("the kernel refuses"));
    await pass(agent, 2_000);
    await vi.waitUntil(() => clock.waiting > 1);
    expect(await agent.applyConfiguration(configuration)).toMatchObject({ state: "failed", reason: "not_applied" });
    filter.mockRestore();
    expect(await agent.applyConfiguration(configuration)).toMatchObject({ state: "applied" });
    expect(passing(kernel)).toEqual([device]);
  });

  test("restores filters and a tunnel that another program removed", async () => {
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
    expect(log).toContain("restored the interface, which another program removed interface=gh0");
  });

  test("enforces a configuration that cannot be stored, and reports a warning until it is", async () => {
    const { agent, kernel } = await start();
    await rm(state, { recursive: true });
    expect(await agent.applyConfiguration(signed(content()))).toMatchObject({ state: "applied" });
    expect(passing(kernel)).toEqual([device]);
    expect((await agent.report()).warnings).toEqual([expect.stringContaining("cannot be stored")]);
    await new StateFolder(state).publicKey();
    for (let check = 0; check < 30; check++) {
      await pass(agent, 2_000);
      await vi.waitUntil(() => clock.waiting > 1);
    }
    expect((await agent.report()).warnings).toEqual([]);
    expect(await new StateFolder(state).configuration()).toMatchObject({ configuration: { content: content() } });
  });
});
