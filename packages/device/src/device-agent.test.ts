/** The agent with its link, against a control plane that the test controls, with a tunnel that only records. */
import { mkdir, readdir, rmdir, stat } from "node:fs/promises";
import path from "node:path";
import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { waitLimitMs } from "../../../test/wait-limit.ts";
import { type DeviceAgentWorld, startDeviceAgentWorld } from "./testing/device-agent-world.ts";
import { exampleDeviceConfiguration } from "./testing/example-device-configuration.ts";
import type { RecordingTunnel } from "./testing/recording-tunnel.ts";

const content = exampleDeviceConfiguration();
const allowedIps = (tunnel: RecordingTunnel) =>
  [...(tunnel.wanted?.peers.values() ?? [])].map((peer) => peer.allowedIps.slice(2));
const ofExample = content.gateways.map((gateway) => gateway.allowedIps);

describe("a device's agent", () => {
  let world: DeviceAgentWorld;

  beforeEach(async () => {
    world = await startDeviceAgentWorld();
  });
  afterEach(() => world.end());

  test("applies and reports configurations, and stores them in private files", async () => {
    const { tunnel, publicKey } = await world.start();
    expect(world.controlPlane.hellos).toMatchObject([{ publicKey, uses: null, format: 1 }]);
    expect(await world.controlPlane.send(world.controlPlane.signed(content))).toMatchObject({ type: "applied" });
    expect(allowedIps(tunnel)).toEqual(ofExample);
    expect([...(tunnel.wanted?.peers.values() ?? [])].map(({ endpoint }) => endpoint)).toEqual([
      "192.0.2.1:51820",
      "192.0.2.9:51820",
    ]);
    await vi.waitUntil(() => world.controlPlane.heartbeats.at(-1)?.gateways.length === 2, { timeout: waitLimitMs });
    expect((await stat(world.state)).mode & 0o777).toBe(0o700);
    for (const name of await readdir(world.state))
      expect((await stat(path.join(world.state, name))).mode & 0o777).toBe(0o600);
  });

  test("resumes after a restart without a control plane, and reports the configuration later", async () => {
    const first = await world.start();
    const { configuration } = await world.controlPlane.send(world.controlPlane.signed(content));
    await first.stop();
    expect(first.tunnel.wanted).toBeUndefined();
    const second = await world.start({ links: false });
    expect(allowedIps(second.tunnel)).toEqual(ofExample);
    second.link.start();
    await vi.waitUntil(() => world.controlPlane.hellos.length === 2, { timeout: waitLimitMs });
    expect(world.controlPlane.hellos[1]?.uses).toEqual(configuration);
  });

  test("changes the machine no more after it was stopped", async () => {
    const { agent, tunnel, folder } = await world.start();
    await world.controlPlane.send(world.controlPlane.signed(content));
    const latest = (await folder.trust())?.latest;
    const stopped = agent.stop();
    // A name that was being resolved gets its answer, and a configuration arrives.
    await Promise.all([stopped, agent.namesChanged()]);
    expect(tunnel.wanted).toBeUndefined();
    const late = world.controlPlane.signed({ ...content, gateways: [] });
    expect(await agent.applyConfiguration(late)).toMatchObject({ state: "failed", reason: "not_applied" });
    expect(tunnel.wanted).toBeUndefined();
    expect((await folder.trust())?.latest).toEqual(latest);
  });

  test("retries after a restart if the machine refuses the stored configuration", async () => {
    const first = await world.start();
    const { configuration } = await world.controlPlane.send(world.controlPlane.signed(content));
    await first.stop();
    const clock = new StoppedClock();
    const second = await world.start({ links: false, clock, refusal: "wireguard-go does not serve the interface" });
    expect(second.tunnel.wanted).toBeUndefined();
    clock.pass(5_000);
    await vi.waitUntil(() => second.tunnel.wanted !== undefined, { timeout: waitLimitMs });
    expect(allowedIps(second.tunnel)).toEqual(ofExample);
    expect(world.log.at(-1)).toBe(`resumed the stored configuration generation=${configuration.generation}`);
  });

  test("refuses configurations older than the latest after a restart, even if that has expired", async () => {
    const clock = new StoppedClock();
    const first = await world.start();
    const old = world.controlPlane.signed(content);
    const { type, configuration } = await world.controlPlane.send(world.controlPlane.signed(content));
    expect(type).toBe("applied");
    await first.stop();
    clock.time += 4_000_000;
    const second = await world.start({ clock });
    expect(second.tunnel.wanted).toBeUndefined();
    expect(world.controlPlane.hellos.at(-1)?.uses).toEqual({ ...configuration, hash: "0".repeat(64) });
    expect(await world.controlPlane.send(old)).toMatchObject({ type: "failed", reason: "replayed" });
  });

  test("restores the previous configuration if the machine refuses the new one", async () => {
    const { tunnel } = await world.start();
    await world.controlPlane.send(world.controlPlane.signed(content));
    tunnel.refusal = "no such device";
    const other = { ...content, gateways: content.gateways.slice(0, 1) };
    const answer = await world.controlPlane.send(world.controlPlane.signed(other));
    expect(answer).toMatchObject({ type: "failed", reason: "not_applied", message: "no such device" });
    expect(allowedIps(tunnel)).toEqual(ofExample);
    expect(await world.controlPlane.send(world.controlPlane.signed(other))).toMatchObject({ type: "applied" });
    expect(allowedIps(tunnel)).toHaveLength(1);
  });

  test("removes the tunnel when the configuration expires, and tries relays while a gateway is silent", async () => {
    const clock = new StoppedClock();
    const { tunnel, agent } = await world.start({ clock });
    const expiresAt = clock.time + 60_000;
    await world.controlPlane.send(world.controlPlane.signed(content, { expiresAt }));
    const [, second] = content.gateways;
    const endpoint = () => tunnel.wanted?.peers.get(second?.publicKey ?? "")?.endpoint;
    let sentBytes = 0;
    await vi.waitUntil(
      () => {
        sentBytes += 148;
        const silent = { endpoint: undefined, allowedIps: [], lastHandshake: undefined, receivedBytes: 0, sentBytes };
        tunnel.live = new Map([[second?.publicKey ?? "", silent]]);
        if (clock.time + 5_000 < expiresAt) clock.pass(5_000);
        return endpoint() === "192.0.2.1:40001";
      },
      { timeout: waitLimitMs, interval: 20 },
    );
    clock.time = expiresAt;
    await vi.waitUntil(
      () => {
        clock.pass(0);
        clock.pass(5_000);
        return tunnel.wanted === undefined;
      },
      { timeout: waitLimitMs, interval: 20 },
    );
    expect(agent.configuration).toBeUndefined();
    expect(world.log.join("\n")).toContain("configuration expired");
  });

  test("follows rotations of the signing key, including those during which it was offline", async () => {
    const first = await world.start();
    expect(await world.controlPlane.send(world.controlPlane.signed(content))).toMatchObject({ type: "applied" });
    const { signingKey } = world.controlPlane;
    await first.stop();
    world.controlPlane.rotate();
    world.controlPlane.rotate();

    // The stored configuration is signed with the first key, and stays in use.
    const second = await world.start();
    expect(allowedIps(second.tunnel)).toEqual(ofExample);
    await vi.waitUntil(async () => (await second.folder.trust())?.signingKey === world.controlPlane.signingKey);
    expect(world.controlPlane.hellos.at(-1)?.uses).not.toBeNull();
    await second.stop();
    const third = await world.start();
    expect(allowedIps(third.tunnel)).toEqual(ofExample);

    expect(await world.controlPlane.send(world.controlPlane.signed(content))).toMatchObject({ type: "applied" });
    const trust = await third.folder.trust();
    expect(trust).toMatchObject({ signingKey: world.controlPlane.signingKey });
    expect(trust?.latestSignedBy).toBeUndefined();
    expect(trust?.signingKey).not.toBe(signingKey);
  });

  test("does not follow a key that its own did not sign", async () => {
    const { folder } = await world.start();
    const { signingKey } = world.controlPlane;
    world.controlPlane.rotate(false);
    world.controlPlane.cut();
    await vi.waitUntil(() => world.log.some((line) => line.includes("server is not the pinned one")), {
      timeout: 10_000,
    });
    expect((await folder.trust())?.signingKey).toBe(signingKey);
  });

  test("applies a configuration that cannot be stored, and stores it later", async () => {
    const clock = new StoppedClock();
    const { tunnel, folder } = await world.start({ clock });
    const file = path.join(world.state, "configuration.json");
    await mkdir(file);
    const { configuration } = await world.controlPlane.send(world.controlPlane.signed(content));
    expect(allowedIps(tunnel)).toEqual(ofExample);
    expect(world.log.join("\n")).toContain("failed to store the configuration");
    await rmdir(file);
    await vi.waitUntil(
      async () => {
        clock.pass(5_000);
        return (await folder.trust())?.latest?.hash === configuration.hash;
      },
      { timeout: waitLimitMs, interval: 20 },
    );
    expect((await folder.configuration())?.content).toEqual(content);
  });

  test("tries relays of a silent gateway even after the clock was set back", async () => {
    const clock = new StoppedClock();
    const { tunnel } = await world.start({ clock });
    await world.controlPlane.send(world.controlPlane.signed(content));
    const [, second] = content.gateways;
    const endpoint = () => tunnel.wanted?.peers.get(second?.publicKey ?? "")?.endpoint;
    let sentBytes = 0;
    let checks = 0;
    tunnel.livePeers = async () => {
      checks += 1;
      sentBytes += 148;
      const silent = { endpoint: undefined, allowedIps: [], lastHandshake: undefined, receivedBytes: 0, sentBytes };
      return new Map([[second?.publicKey ?? "", silent]]);
    };
    const check = async () => {
      const before = checks;
      await vi.waitUntil(() => clock.pass(5_000) === undefined && checks > before, {
        timeout: waitLimitMs,
        interval: 20,
      });
    };
    await check();
    clock.setMs = -3 * 3_600_000;
    for (let count = 0; count < 20 && endpoint() !== "192.0.2.1:40001"; count += 1) await check();
    expect(endpoint()).toBe("192.0.2.1:40001");
  });

  test("does not mistake a correction of the clock for the silence of a gateway", async () => {
    const clock = new StoppedClock();
    const { agent, tunnel } = await world.start({ clock });
    await world.controlPlane.send(world.controlPlane.signed(content));
    const [, second] = content.gateways;
    const check = async (sentBytes: number) => {
      const silent = { endpoint: undefined, allowedIps: [], lastHandshake: undefined, receivedBytes: 92, sentBytes };
      tunnel.live = new Map([[second?.publicKey ?? "", silent]]);
      const live = vi.spyOn(tunnel, "livePeers");
      clock.pass(5_000);
      await agent.performed();
      expect(live).toHaveBeenCalledOnce();
      live.mockRestore();
    };
    await check(148);
    await check(1_000);
    clock.setMs = 60_000;
    await check(2_000);
    expect(tunnel.wanted?.peers.get(second?.publicKey ?? "")?.endpoint).toBe("192.0.2.9:51820");
  });

  test.each([
    ["the machine slept", 3_600_000],
    ["the clock was set back", -3_600_000],
  ])("resolves the endpoints of gateways again after %s", async (_, setMs) => {
    const clock = new StoppedClock();
    let address = "192.0.2.9";
    const { agent, tunnel } = await world.start({ clock, lookUp: async () => [address] });
    await world.controlPlane.send(world.controlPlane.signed({ ...content }, { expiresAt: clock.time + 86_400_000 }));
    const [, second] = content.gateways;
    address = "192.0.2.10";
    clock.setMs = setMs;
    clock.pass(5_000);
    await agent.performed();
    expect(tunnel.wanted?.peers.get(second?.publicKey ?? "")?.endpoint).toBe("192.0.2.10:51820");
  });

  test("restores a tunnel that another program removed", async () => {
    const clock = new StoppedClock();
    const { tunnel } = await world.start({ clock });
    await world.controlPlane.send(world.controlPlane.signed(content));
    tunnel.wanted = undefined;
    tunnel.isGone = true;
    await vi.waitUntil(
      () => {
        clock.pass(5_000);
        return tunnel.wanted !== undefined;
      },
      { timeout: waitLimitMs, interval: 20 },
    );
    expect(allowedIps(tunnel)).toEqual(ofExample);
    expect(world.log.join("\n")).toContain('tunnel is gone; restoring it err="no such device"');
  });

  test("refuses the configurations of another server", async () => {
    const { stop } = await world.start();
    await world.controlPlane.send(world.controlPlane.signed(content));
    await stop();
    await world.controlPlane.close();
    await world.replaceControlPlane();
    const { tunnel, link } = await world.start({ links: false });
    link.start();
    await vi.waitUntil(() => world.log.some((line) => line.includes("server is not the pinned one")), {
      timeout: waitLimitMs,
    });
    expect(allowedIps(tunnel)).toEqual(ofExample);
  });

  test("reconnects after the link is lost, and logs a rejected token", async () => {
    await world.start();
    world.controlPlane.cut();
    await vi.waitUntil(() => world.controlPlane.hellos.length === 2, { timeout: waitLimitMs });
    const { link } = await world.start({ links: false, token: "another" });
    link.start();
    await vi.waitUntil(() => world.log.some((line) => line.includes("control plane rejected the token")), {
      timeout: waitLimitMs,
    });
  });

  test("closes the link after an invalid frame", async () => {
    await world.start();
    world.controlPlane.say({ type: "surprise" });
    await vi.waitUntil(() => world.controlPlane.hellos.length === 2, { timeout: waitLimitMs });
    expect(world.log.join("\n")).toContain("invalid frame");
  });
});
