/** Restarts without a control plane, when the state folder and the runtime folder differ. */
import { chmod, cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { lockFolder } from "@gatehouse/agent-core/state/folder-lock";
import type { SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Agent } from "./agent.ts";
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

const revoked = { ...content(), classes: {} };
const otherGateway = "0199aaaa-0000-7000-8000-000000000009";

describe("the copy of an agent's state in the runtime folder", () => {
  let world: AgentWorld;
  let stored: SignedConfiguration;
  let agent: Agent;
  const inRuntime = (file: string) => path.join(world.runtime, file);
  const restart = async () => {
    await agent.stop();
    return world.start();
  };
  const times = () => ({ issuedAt: world.clock.now(), expiresAt: world.clock.now() + 60 * minuteMs });

  beforeEach(async () => {
    world = await newAgentWorld();
    ({ agent } = await world.start());
    stored = world.signed(content());
    await agent.applyConfiguration(stored);
  });
  afterEach(() => world.stop());

  /** Applies configurations while the state folder cannot be written, and ends the agent. */
  async function applyUnstored(...given: readonly SignedConfiguration[]) {
    await world.fillDisk();
    for (const each of given) expect(await agent.applyConfiguration(each)).toMatchObject({ state: "applied" });
    await world.emptyDisk();
    await agent.stop();
  }

  test("is resumed if the state folder has an earlier configuration, and then stored", async () => {
    const later = world.signed(revoked);
    await applyUnstored(later);
    expect(await world.stored("configuration.json")).toBe(JSON.stringify(stored));
    const second = await world.start();
    expect(passing(second.kernel)).toEqual([]);
    expect(second.agent.enforces?.generation).toBe(later.envelope.header.generation);
    expect(await second.agent.applyConfiguration(stored)).toMatchObject({ reason: "replayed" });
    expect(await world.stored("configuration.json")).toBe(JSON.stringify(later));
    expect((await second.agent.report()).warnings).toEqual([]);
    await second.agent.stop();
    await rm(world.runtime, { recursive: true });
    expect((await world.start()).agent.enforces?.generation).toBe(later.envelope.header.generation);
  });

  test("replaces a stored configuration that was damaged", async () => {
    await agent.stop();
    await writeFile(path.join(world.state, "configuration.json"), "{");
    const { kernel } = await world.start();
    expect(passing(kernel)).toEqual([device]);
    expect(await world.stored("configuration.json")).toBe(JSON.stringify(stored));
  });

  test("is retried if the machine refuses it, and the earlier configuration is not resumed", async () => {
    const later = world.signed(revoked);
    await applyUnstored(later);
    const machine = new RecordingKernel();
    machine.refusal = "no such device";
    const { agent: second, kernel } = await world.start(machine);
    for (let check = 0; check < 3; check++) {
      expect(isClosed(kernel)).toBe(true);
      await world.pass(second, 2_000);
      await vi.waitUntil(() => world.clock.waiting > 0);
    }
    expect(second.enforces?.generation).toBe(later.envelope.header.generation);
    expect(await world.stored("configuration.json")).toBe(JSON.stringify(later));
  });

  test("is ignored if it is earlier than the stored configuration", async () => {
    await cp(world.runtime, `${world.runtime}.earlier`, { recursive: true, filter: (file) => !file.endsWith(".sock") });
    const later = world.signed(revoked);
    await agent.applyConfiguration(later);
    await agent.stop();
    await cp(`${world.runtime}.earlier`, world.runtime, { recursive: true });
    const { agent: second, kernel } = await world.start();
    expect(passing(kernel)).toEqual([]);
    expect(second.enforces?.generation).toBe(later.envelope.header.generation);
    expect(await readFile(inRuntime("configuration.json"), "utf8")).toBe(JSON.stringify(later));
  });

  test("ends the stored configuration even if it has expired itself", async () => {
    const later = world.signed(revoked, { expiresAt: world.clock.now() + 10 * minuteMs });
    await applyUnstored(later);
    world.clock.pass(20 * minuteMs);
    const { agent: second, kernel } = await world.start();
    expect(isClosed(kernel)).toBe(true);
    expect(await second.applyConfiguration(stored)).toMatchObject({ reason: "replayed" });
    expect(second.trust?.latest?.generation).toBe(later.envelope.header.generation);
    await second.stop();
    await rm(world.runtime, { recursive: true });
    const third = await world.start();
    expect(isClosed(third.kernel)).toBe(true);
    expect(await third.agent.applyConfiguration(world.signed(content()))).toMatchObject({ state: "applied" });
  });

  test("does not replace a later one that has expired with an earlier one that has expired", async () => {
    const times = { expiresAt: world.clock.now() + 10 * minuteMs };
    await agent.applyConfiguration(world.signed(revoked, times));
    await cp(world.runtime, `${world.runtime}.earlier`, { recursive: true, filter: (file) => !file.endsWith(".sock") });
    const later = world.signed(revoked, times);
    await agent.applyConfiguration(later);
    await agent.stop();
    await cp(`${world.runtime}.earlier`, world.runtime, { recursive: true });
    await rm(path.join(world.state, "configuration.json"));
    world.clock.pass(20 * minuteMs);
    const { agent: second, kernel } = await world.start();
    expect(isClosed(kernel)).toBe(true);
    expect(second.trust?.latest?.generation).toBe(later.envelope.header.generation);
    await second.stop();
    expect(JSON.parse(await world.stored("trust.json")).latest.generation).toBe(later.envelope.header.generation);
  });

  test("is resumed if the first configuration was stored, but not its gateway", async () => {
    await applyUnstored(world.signed(revoked));
    const trust = path.join(world.state, "trust.json");
    await writeFile(trust, JSON.stringify({ signingKey: world.signer.signingKey }));
    const { agent: second, kernel } = await world.start();
    expect(passing(kernel)).toEqual([]);
    expect(second.content).toEqual(revoked);
    expect(JSON.parse(await readFile(trust, "utf8"))).toMatchObject({ gateway, tenant: world.signer.tenant });
  });

  test("is not resumed if the pinned key did not sign the only stored configuration", async () => {
    await applyUnstored(world.signed(revoked));
    const copied = await readFile(inRuntime("configuration.json"), "utf8");
    await writeFile(path.join(world.state, "trust.json"), JSON.stringify({ signingKey: world.signer.signingKey }));
    const forged = new ConfigurationSigner().signed(gateway, content(), times());
    await writeFile(path.join(world.state, "configuration.json"), JSON.stringify(forged));
    const { kernel } = await world.start();
    expect(isClosed(kernel)).toBe(true);
    expect(await readFile(inRuntime("configuration.json"), "utf8")).toBe(copied);
  });

  test("that expires while the disk is full still ends the stored configuration after a reboot", async () => {
    const later = world.signed(revoked, { expiresAt: world.clock.now() + minuteMs });
    await world.fillDisk();
    await agent.applyConfiguration(later);
    const pass = async (checks: number) => {
      for (let check = 0; check < checks; check += 1) {
        await world.pass(agent, 2_000);
        await vi.waitUntil(() => world.clock.waiting > 0);
      }
    };
    await pass(35);
    expect(agent.content).toBeUndefined();
    await world.emptyDisk();
    await pass(5);
    expect((await agent.report()).warnings).toEqual([]);
    await agent.stop();
    await rm(world.runtime, { recursive: true });
    const { agent: second, kernel } = await world.start();
    expect(isClosed(kernel)).toBe(true);
    expect(second.trust?.latest?.generation).toBe(later.envelope.header.generation);
  });

  describe("is ignored, with an entry in the log,", () => {
    const stranger = new ConfigurationSigner();
    const edit = async (file: string, change: (value: Record<string, unknown>) => object) =>
      writeFile(inRuntime(file), JSON.stringify(change(JSON.parse(await readFile(inRuntime(file), "utf8")))));
    const replaceBy = (signed: SignedConfiguration) => edit("configuration.json", () => signed);

    test.each<[string, string, () => Promise<void>]>([
      ["with text instead of a configuration", "Unexpected", () => writeFile(inRuntime("configuration.json"), "text")],
      ["without settings", "/content", () => edit("configuration.json", (value) => ({ ...value, content: {} }))],
      ["without a signing key", "does not contain a signing key", () => edit("trust.json", () => ({}))],
      ["with null as trust", "does not contain a signing key", () => writeFile(inRuntime("trust.json"), "null")],
      [
        "with altered content",
        "does not match the signed hash",
        () => edit("configuration.json", (value) => ({ ...value, content: content() })),
      ],
      [
        "with an altered header",
        "did not sign",
        async () => {
          const { envelope } = world.signed(revoked);
          await replaceBy({
            envelope: { ...envelope, header: { ...envelope.header, generation: 99 } },
            content: revoked,
          });
        },
      ],
      ["signed by another key", "did not sign", () => replaceBy(stranger.signed(gateway, revoked, { generation: 99 }))],
      ["for another gateway", "did not sign", () => replaceBy(world.signer.signed(otherGateway, revoked, times()))],
      ["for another tenant", "did not sign", () => replaceBy(world.signed(revoked, { tenant: otherGateway }))],
      [
        "of an agent of another gateway",
        `belongs to the gateway ${otherGateway}`,
        async () => {
          await replaceBy(world.signer.signed(otherGateway, revoked, times()));
          await edit("trust.json", (trust) => ({ ...trust, gateway: otherGateway }));
        },
      ],
      [
        "of an agent of another tenant",
        "belongs to the gateway",
        () => edit("trust.json", (trust) => ({ ...trust, tenant: otherGateway })),
      ],
      [
        "with another pinned key",
        "does not lead to its signing key",
        async () => {
          await replaceBy(
            stranger.signed(gateway, revoked, { ...times(), tenant: world.signer.tenant, generation: 99 }),
          );
          await edit("trust.json", (trust) => ({ ...trust, signingKey: stranger.signingKey }));
        },
      ],
      [
        "with a rotation that the pinned key did not sign",
        "does not lead to its signing key",
        () => {
          const handover = { ...stranger.handOver(stranger), from: world.signer.signingKey };
          return edit("trust.json", (trust) => ({
            ...trust,
            signingKey: stranger.signingKey,
            handovers: [handover],
          }));
        },
      ],
      [
        "with null as rotation",
        "null",
        () => edit("trust.json", (trust) => ({ ...trust, signingKey: stranger.signingKey, handovers: [null] })),
      ],
      ["in a folder that others can write to", "Other users can write", () => chmod(world.runtime, 0o777)],
    ])("%s", async (_, problem, change) => {
      await applyUnstored(world.signed(revoked));
      await change();
      const { agent: second, kernel } = await world.start();
      expect(passing(kernel)).toEqual([device]);
      expect(second.enforces?.generation).toBe(stored.envelope.header.generation);
      const entries = world.log.filter((line) => line.includes("ignored the copy in the runtime folder"));
      expect(entries).toEqual([expect.stringContaining(problem)]);
      expect(await second.applyConfiguration(world.signed(revoked))).toMatchObject({ state: "applied" });
    });
  });

  test("is resumed, and not replaced, while another agent uses the folder", async () => {
    await applyUnstored(world.signed(revoked));
    const before = await readFile(inRuntime("configuration.json"), "utf8");
    const release = await lockFolder(world.runtime);
    const second = await world.start();
    expect(passing(second.kernel)).toEqual([]);
    await second.agent.applyConfiguration(world.signed(content()));
    expect((await second.agent.report()).warnings).toEqual([
      expect.stringContaining("Another agent runs with the runtime folder"),
    ]);
    expect(await readFile(inRuntime("configuration.json"), "utf8")).toBe(before);
    release();
  });

  test("is removed if the state folder is new", async () => {
    await applyUnstored(world.signed(revoked));
    await rm(world.state, { recursive: true });
    const { kernel } = await world.start();
    expect(isClosed(kernel)).toBe(true);
    expect(world.log).toContainEqual(expect.stringContaining("removed the copy in the runtime folder"));
    expect((await readdir(world.runtime)).filter((file) => file.endsWith(".json"))).toEqual([]);
  });

  test("is written by each start, for example after a reboot", async () => {
    await agent.stop();
    await rm(world.runtime, { recursive: true });
    await world.start();
    expect(await readFile(inRuntime("configuration.json"), "utf8")).toBe(JSON.stringify(stored));
  });

  describe("and the reports", () => {
    const warnings = async () => (await agent.report()).warnings;
    const check = async () => {
      for (let second = 0; second < 30; second += 2) {
        await world.pass(agent, 2_000);
        await vi.waitUntil(() => world.clock.waiting > 1);
      }
    };

    test("name a reboot if only the state folder cannot be written, until it can", async () => {
      await world.fillDisk();
      const later = world.signed(revoked);
      await agent.applyConfiguration(later);
      expect(await warnings()).toEqual([
        expect.stringMatching(/cannot be stored \(ENOENT.*has a copy.*because of a reboot/),
      ]);
      await world.emptyDisk();
      await check();
      expect(await warnings()).toEqual([]);
      expect(await world.stored("configuration.json")).toBe(JSON.stringify(later));
      const { kernel } = await restart();
      expect(passing(kernel)).toEqual([]);
    });

    test("name the runtime folder if only that cannot be written, until it can", async () => {
      await world.blockRuntimeFolder();
      const later = world.signed(revoked);
      await agent.applyConfiguration(later);
      expect(await warnings()).toEqual([expect.stringMatching(/cannot be copied to the runtime folder \(EEXIST/)]);
      expect(world.log).toContainEqual(expect.stringContaining("failed to copy the configuration"));
      await rm(world.runtime);
      await check();
      expect(await warnings()).toEqual([]);
      expect(await readFile(inRuntime("configuration.json"), "utf8")).toBe(JSON.stringify(later));
    });

    test("name a restart if neither folder can be written", async () => {
      await world.fillDisk();
      await world.blockRuntimeFolder();
      await agent.applyConfiguration(world.signed(revoked));
      expect(await warnings()).toEqual([expect.stringMatching(/\(ENOENT.*\(EEXIST.*A restart enforces an earlier/)]);
      await world.emptyDisk();
      const { kernel } = await restart();
      expect(passing(kernel)).toEqual([device]);
      expect(world.log).toContainEqual(expect.stringContaining("ignored the copy in the runtime folder"));
    });
  });

  test("needs a state folder that can pin the first key", async () => {
    const other = await newAgentWorld();
    const { agent: unpinned } = await other.startUnpinned();
    await other.fillDisk();
    await expect(unpinned.trustSigningKey(other.signer.signingKey)).rejects.toThrow("ENOENT");
    expect(unpinned.trust).toBeUndefined();
    await other.stop();
  });
});
