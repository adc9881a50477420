/** Rotations of the signing key that are in the runtime folder only, because the state folder could not be written. */
import { cp } from "node:fs/promises";
import path from "node:path";
import type { SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Agent } from "./agent.ts";
import { type AgentWorld, content, gateway, minuteMs, newAgentWorld } from "./testing/agent-world.ts";
import { ConfigurationSigner } from "./testing/configuration-signer.ts";

const revoked = { ...content(), classes: {} };

describe("an agent that restarts after a rotation while the state folder could not be written", () => {
  let world: AgentWorld;
  let agent: Agent;
  let next: ConfigurationSigner;
  let last: ConfigurationSigner;

  beforeEach(async () => {
    world = await newAgentWorld();
    ({ agent } = await world.start());
    await apply(world.signed(content(), generation(1)));
    next = new ConfigurationSigner(world.signer.tenant);
    last = new ConfigurationSigner(world.signer.tenant);
    await world.fillDisk();
  });
  afterEach(() => world.stop());

  const rotate = (from: ConfigurationSigner, to: ConfigurationSigner) =>
    agent.trustSigningKey(to.signingKey, [from.handOver(to)]);
  const apply = async (signed: SignedConfiguration) =>
    expect(await agent.applyConfiguration(signed)).toMatchObject({ state: "applied" });
  const refuse = async (signed: SignedConfiguration) =>
    expect(await agent.applyConfiguration(signed)).toMatchObject({ state: "failed", reason: "forged" });
  const generation = (value: number) => {
    const issuedAt = world.clock.now();
    return { issuedAt, expiresAt: issuedAt + 60 * minuteMs, generation: value };
  };
  const storedTrust = async (): Promise<unknown> => JSON.parse(await world.stored("trust.json"));

  /** Restarts with a writable state folder. @returns the generation that is enforced */
  async function resumed(): Promise<number | undefined> {
    await world.emptyDisk();
    await agent.stop();
    ({ agent } = await world.start());
    return agent.enforces?.generation;
  }

  test("resumes a configuration that the former key signed, and stores the key", async () => {
    await apply(world.signed(revoked, generation(8)));
    await rotate(world.signer, next);
    expect(await resumed()).toBe(8);
    await refuse(world.signed(content(), generation(9)));
    expect(await storedTrust()).toMatchObject({
      signingKey: next.signingKey,
      formerKeys: [world.signer.signingKey],
      latest: { generation: 8 },
    });
    await rotate(next, last);
    await apply(last.signed(gateway, content(), generation(10)));
  });

  test("resumes a configuration that the next key signed", async () => {
    await rotate(world.signer, next);
    await apply(next.signed(gateway, revoked, generation(8)));
    expect(await resumed()).toBe(8);
    await refuse(world.signed(content(), generation(9)));
  });

  test("resumes a configuration that a key between two rotations signed", async () => {
    await rotate(world.signer, next);
    await apply(next.signed(gateway, revoked, generation(8)));
    await rotate(next, last);
    expect(await resumed()).toBe(8);
    await refuse(next.signed(gateway, content(), generation(9)));
    await apply(last.signed(gateway, content(), generation(10)));
  });

  test("resumes the stored configuration with the next key", async () => {
    await rotate(world.signer, next);
    expect(await resumed()).toBe(1);
    await apply(next.signed(gateway, revoked, generation(8)));
    expect(await storedTrust()).toMatchObject({ signingKey: next.signingKey });
  });

  test("follows the rotation again if the runtime folder could not be written either", async () => {
    await world.blockRuntimeFolder();
    await rotate(world.signer, next);
    await apply(next.signed(gateway, revoked, generation(8)));
    expect(await resumed()).toBe(1);
    await rotate(world.signer, next);
    await apply(next.signed(gateway, revoked, generation(9)));
  });

  test("resumes the copy of a configuration that is missing beside a later stored key", async () => {
    const earlier = { state: `${world.state}.earlier`, runtime: `${world.runtime}.earlier` };
    await apply(world.signed(revoked, generation(8)));
    await agent.stop();
    await world.emptyDisk();
    for (const place of ["state", "runtime"] as const) await cp(world[place], earlier[place], { recursive: true });
    ({ agent } = await world.start());
    await rotate(world.signer, next);
    await agent.stop();
    await cp(earlier.runtime, world.runtime, { recursive: true });
    await cp(path.join(earlier.state, "configuration.json"), path.join(world.state, "configuration.json"));
    ({ agent } = await world.start());
    expect(agent.enforces?.generation).toBe(8);
    await refuse(world.signed(content(), generation(9)));
  });
});
