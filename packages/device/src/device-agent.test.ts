/** The agent with its link, against a control plane that the test controls, with a tunnel that only records. */
import { mkdir, mkdtemp, readdir, rm, rmdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Clock, systemClock } from "@gatehouse/agent-core/clock";
import { HostResolver, type LookUp } from "@gatehouse/agent-core/dns/host-resolver";
import { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import { formatLogLine, type Log } from "@gatehouse/agent-core/log";
import { generatedKeys } from "@gatehouse/agent-core/testing/generated-keys";
import { StoppedClock } from "@gatehouse/agent-core/testing/stopped-clock";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { waitLimitMs } from "../../../test/wait-limit.ts";
import { DeviceFolder } from "./configuration/device-folder.ts";
import { DeviceAgent } from "./device-agent.ts";
import { DeviceLink } from "./link/device-link.ts";
import { exampleDeviceConfiguration } from "./testing/example-device-configuration.ts";
import { FakeControlPlane } from "./testing/fake-control-plane.ts";
import { RecordingTunnel } from "./testing/recording-tunnel.ts";
import type { LocalNetwork } from "./tunnel/local-network.ts";

const content = exampleDeviceConfiguration();
const allowedIps = (tunnel: RecordingTunnel) =>
  [...(tunnel.wanted?.peers.values() ?? [])].map((peer) => peer.allowedIps.slice(2));
const ofExample = content.gateways.map((gateway) => gateway.allowedIps);

/** @returns a promise, and a function that resolves it */
function gate() {
  let go = () => {};
  const promise = new Promise<void>((resolve) => {
    go = resolve;
  });
  return { promise, go: () => go() };
}

describe("a device's agent", () => {
  let state: string;
  let controlPlane: FakeControlPlane;
  let url: string;
  let log: string[];
  let network: LocalNetwork;
  /** How often the network was read. */
  let reads = 0;
  const running: (() => Promise<void>)[] = [];

  beforeEach(async () => {
    state = path.join(await mkdtemp(path.join(tmpdir(), "gatehouse-device-")), "state");
    controlPlane = new FakeControlPlane(content.device);
    url = await controlPlane.listen();
    log = [];
    network = { resolvers: new Set(["192.168.1.1"]), routers: new Set() };
  });
  afterEach(async () => {
    for (const stop of running.splice(0)) await stop();
    await controlPlane.close();
    await rm(path.dirname(state), { recursive: true, force: true });
  });

  interface Start {
    readonly clock?: Clock;
    readonly links?: boolean;
    readonly token?: string;
    /** The machine's error at the first change. */
    readonly refusal?: string;
    readonly lookUp?: LookUp;
  }

  async function start(options: Start = {}) {
    const { clock = systemClock, links = true, token = controlPlane.token, refusal } = options;
    const { lookUp = async () => ["192.0.2.9"] } = options;
    const folder = new DeviceFolder(state);
    await folder.make();
    const publicKey = await folder.publicKey();
    const tunnel = new RecordingTunnel();
    tunnel.refusal = refusal;
    const say: Log = (message, fields) => void log.push(formatLogLine(message, fields));
    const hosts = new HostResolver(clock, lookUp);
    const { device } = content;
    const names = new ResolvedNames();
    const localNetwork = async () => {
      reads += 1;
      return network;
    };
    const agent = new DeviceAgent({ device, url, tunnel, folder, names, hosts, localNetwork, clock, log: say });
    await agent.start();
    const link = new DeviceLink({
      url,
      token: () => Promise.resolve(token),
      device,
      agent,
      state: { trust: agent.pinned, used: agent.signed },
      keys: { ...generatedKeys(), publicKey },
      agentVersion: "1",
      clock: systemClock,
      log: say,
      random: () => 0,
    });
    agent.onChange((configuration) => {
      if (configuration === undefined) link.expired();
    });
    const stop = async () => {
      link.stop();
      await agent.stop();
    };
    running.push(stop);
    if (links) {
      link.start();
      await vi.waitUntil(() => controlPlane.isLinked, { timeout: waitLimitMs });
    }
    return { agent, tunnel, folder, link, stop, publicKey, names };
  }

  test("applies and reports configurations, and stores them in private files", async () => {
    const { tunnel, publicKey } = await start();
    expect(controlPlane.hellos).toMatchObject([{ publicKey, uses: null, format: 1 }]);
    expect(await controlPlane.send(controlPlane.signed(content))).toMatchObject({ type: "applied" });
    expect(allowedIps(tunnel)).toEqual(ofExample);
    expect([...(tunnel.wanted?.peers.values() ?? [])].map(({ endpoint }) => endpoint)).toEqual([
      "192.0.2.1:51820",
      "192.0.2.9:51820",
    ]);
    await vi.waitUntil(() => controlPlane.heartbeats.at(-1)?.gateways.length === 2, { timeout: waitLimitMs });
    expect((await stat(state)).mode & 0o777).toBe(0o700);
    for (const name of await readdir(state)) expect((await stat(path.join(state, name))).mode & 0o777).toBe(0o600);
  });

  test("resumes after a restart without a control plane, and reports the configuration later", async () => {
    const first = await start();
    const { configuration } = await controlPlane.send(controlPlane.signed(content));
    await first.stop();
    expect(first.tunnel.wanted).toBeUndefined();
    const second = await start({ links: false });
    expect(allowedIps(second.tunnel)).toEqual(ofExample);
    second.link.start();
    await vi.waitUntil(() => controlPlane.hellos.length === 2, { timeout: waitLimitMs });
    expect(controlPlane.hellos[1]?.uses).toEqual(configuration);
  });

  test("retries after a restart if the machine refuses the stored configuration", async () => {
    const first = await start();
    const { configuration } = await controlPlane.send(controlPlane.signed(content));
    await first.stop();
    const clock = new StoppedClock();
    const second = await start({ links: false, clock, refusal: "wireguard-go does not serve the interface" });
    expect(second.tunnel.wanted).toBeUndefined();
    clock.pass(5_000);
    await vi.waitUntil(() => second.tunnel.wanted !== undefined, { timeout: waitLimitMs });
    expect(allowedIps(second.tunnel)).toEqual(ofExample);
    expect(log.at(-1)).toBe(`resumed the stored configuration generation=${configuration.generation}`);
  });

  test("refuses configurations older than the latest after a restart, even if that has expired", async () => {
    const clock = new StoppedClock();
    const first = await start();
    const old = controlPlane.signed(content);
    const { type, configuration } = await controlPlane.send(controlPlane.signed(content));
    expect(type).toBe("applied");
    await first.stop();
    clock.time += 4_000_000;
    const second = await start({ clock });
    expect(second.tunnel.wanted).toBeUndefined();
    expect(controlPlane.hellos.at(-1)?.uses).toEqual({ ...configuration, hash: "0".repeat(64) });
    expect(await controlPlane.send(old)).toMatchObject({ type: "failed", reason: "replayed" });
  });

  test("restores the previous configuration if the machine refuses the new one", async () => {
    const { tunnel } = await start();
    await controlPlane.send(controlPlane.signed(content));
    tunnel.refusal = "no such device";
    const other = { ...content, gateways: content.gateways.slice(0, 1) };
    const answer = await controlPlane.send(controlPlane.signed(other));
    expect(answer).toMatchObject({ type: "failed", reason: "not_applied", message: "no such device" });
    expect(allowedIps(tunnel)).toEqual(ofExample);
    expect(await controlPlane.send(controlPlane.signed(other))).toMatchObject({ type: "applied" });
    expect(allowedIps(tunnel)).toHaveLength(1);
  });

  test("removes the tunnel when the configuration expires, and tries relays while a gateway is silent", async () => {
    const clock = new StoppedClock();
    const { tunnel, agent } = await start({ clock });
    const expiresAt = clock.time + 60_000;
    await controlPlane.send(controlPlane.signed(content, { expiresAt }));
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
    expect(log.join("\n")).toContain("configuration expired");
  });

  test("follows rotations of the signing key, including those during which it was offline", async () => {
    const first = await start();
    expect(await controlPlane.send(controlPlane.signed(content))).toMatchObject({ type: "applied" });
    const { signingKey } = controlPlane;
    await first.stop();
    controlPlane.rotate();
    controlPlane.rotate();

    // The stored configuration is signed with the first key, and stays in use.
    const second = await start();
    expect(allowedIps(second.tunnel)).toEqual(ofExample);
    await vi.waitUntil(async () => (await second.folder.trust())?.signingKey === controlPlane.signingKey);
    expect(controlPlane.hellos.at(-1)?.uses).not.toBeNull();
    await second.stop();
    const third = await start();
    expect(allowedIps(third.tunnel)).toEqual(ofExample);

    expect(await controlPlane.send(controlPlane.signed(content))).toMatchObject({ type: "applied" });
    const trust = await third.folder.trust();
    expect(trust).toMatchObject({ signingKey: controlPlane.signingKey });
    expect(trust?.latestSignedBy).toBeUndefined();
    expect(trust?.signingKey).not.toBe(signingKey);
  });

  test("does not follow a key that its own did not sign", async () => {
    const { folder } = await start();
    const { signingKey } = controlPlane;
    controlPlane.rotate(false);
    controlPlane.cut();
    await vi.waitUntil(() => log.some((line) => line.includes("server is not the pinned one")), { timeout: 10_000 });
    expect((await folder.trust())?.signingKey).toBe(signingKey);
  });

  test("applies a configuration that cannot be stored, and stores it later", async () => {
    const clock = new StoppedClock();
    const { tunnel, folder } = await start({ clock });
    const file = path.join(state, "configuration.json");
    await mkdir(file);
    const { configuration } = await controlPlane.send(controlPlane.signed(content));
    expect(allowedIps(tunnel)).toEqual(ofExample);
    expect(log.join("\n")).toContain("failed to store the configuration");
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
    const { tunnel } = await start({ clock });
    await controlPlane.send(controlPlane.signed(content));
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
    const { agent, tunnel } = await start({ clock });
    await controlPlane.send(controlPlane.signed(content));
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
    const { agent, tunnel } = await start({ clock, lookUp: async () => [address] });
    await controlPlane.send(controlPlane.signed({ ...content }, { expiresAt: clock.time + 86_400_000 }));
    const [, second] = content.gateways;
    address = "192.0.2.10";
    clock.setMs = setMs;
    clock.pass(5_000);
    await agent.performed();
    expect(tunnel.wanted?.peers.get(second?.publicKey ?? "")?.endpoint).toBe("192.0.2.10:51820");
  });

  describe("in a network whose addresses are those of names", () => {
    const learn = (names: ResolvedNames, clock: Clock, address: string) =>
      names.learn("git.internal.example.com", [address], 60_000, clock.now(), true);
    const bypassed = ({ wanted }: RecordingTunnel) => [
      ...new Set(wanted?.bypassRoutes.filter(({ port }) => port === 53).map(({ address }) => address)),
    ];

    test("keeps DNS outside the tunnel, including queries to another network's resolver", async () => {
      const clock = new StoppedClock();
      const { agent, tunnel, names } = await start({ clock });
      await controlPlane.send(controlPlane.signed(content));
      learn(names, clock, "192.168.1.1");
      learn(names, clock, "10.7.0.53");
      await agent.namesChanged();
      expect(bypassed(tunnel)).toEqual(["192.168.1.1"]);
      network = { resolvers: new Set(["10.7.0.53"]), routers: new Set(["10.7.0.53"]) };
      expect(agent.isClosedToNames("10.7.0.53")).toBe(false);
      // A question is about to be sent to the new resolver.
      await agent.useResolvers(["10.7.0.53"]);
      expect(bypassed(tunnel)).toEqual(["10.7.0.53"]);
      expect(agent.isClosedToNames("10.7.0.53")).toBe(true);
      expect([...(tunnel.wanted?.peers.values() ?? [])].flatMap((peer) => peer.allowedIps)).not.toContain(
        "10.7.0.53/32",
      );
    });

    /** Lets the next change of the tunnel wait. @returns `isWaiting`, and a function that continues the change */
    function nextChange(tunnel: RecordingTunnel) {
      const { promise, go } = gate();
      const state = { isWaiting: false };
      const apply = tunnel.apply.bind(tunnel);
      tunnel.apply = async (wanted) => {
        tunnel.apply = apply;
        state.isWaiting = true;
        await promise;
        await apply(wanted);
      };
      return { state, go };
    }
    const movedTo = { resolvers: new Set(["10.7.0.53"]), routers: new Set<string>() };

    test.each(["a question", "a check"])("lets questions wait for the rules of a network that %s finds", async (by) => {
      const clock = new StoppedClock();
      const { agent, tunnel, names } = await start({ clock });
      await controlPlane.send(controlPlane.signed(content));
      learn(names, clock, "10.7.0.53");
      await agent.namesChanged();
      network = movedTo;
      const { state: change, go } = nextChange(tunnel);
      const first = by === "a question" ? agent.useResolvers(["10.7.0.53"]) : undefined;
      await vi.waitUntil(
        () => {
          if (first === undefined) clock.pass(5_000);
          return change.isWaiting;
        },
        { timeout: waitLimitMs, interval: 20 },
      );
      const bypassedThen = agent.useResolvers(["10.7.0.53"]).then(() => bypassed(tunnel));
      go();
      expect(await bypassedThen).toEqual(["10.7.0.53"]);
      await first;
    });

    test("tries the rules of another network again before a question is sent, if the machine refuses them", async () => {
      const clock = new StoppedClock();
      const { agent, tunnel, names } = await start({ clock });
      await controlPlane.send(controlPlane.signed(content));
      learn(names, clock, "10.7.0.53");
      await agent.namesChanged();
      network = movedTo;
      tunnel.refusal = "no memory";
      await expect(agent.useResolvers(["10.7.0.53"])).rejects.toThrow("no memory");
      await agent.useResolvers(["10.7.0.53"]);
      expect(bypassed(tunnel)).toEqual(["10.7.0.53"]);
    });

    test("lets no question wait for the resolution of gateways, which may be this question", async () => {
      const clock = new StoppedClock();
      let isResolving = false;
      const { promise: resolved, go: finish } = gate();
      const { agent, tunnel, names } = await start({
        clock,
        lookUp: async () => {
          isResolving = true;
          if (network === movedTo) await resolved;
          return ["192.0.2.10"];
        },
      });
      await controlPlane.send(controlPlane.signed(content));
      learn(names, clock, "10.7.0.53");
      await agent.namesChanged();
      clock.time += 120_000;
      isResolving = false;
      const changed = agent.namesChanged();
      // The machine moves while the agent resolves the endpoint of a gateway with the resolvers of the new network.
      network = movedTo;
      await vi.waitUntil(() => isResolving, { timeout: waitLimitMs });
      await agent.useResolvers(["10.7.0.53"]);
      expect(bypassed(tunnel)).toEqual(["10.7.0.53"]);
      finish();
      await changed;
      expect(bypassed(tunnel)).toEqual(["10.7.0.53"]);
    });

    test("reads a new network once", async () => {
      const clock = new StoppedClock();
      const { agent, tunnel, names } = await start({ clock });
      await controlPlane.send(controlPlane.signed(content));
      learn(names, clock, "10.7.0.53");
      await agent.namesChanged();
      network = movedTo;
      const before = reads;
      const live = vi.spyOn(tunnel, "livePeers");
      clock.pass(5_000);
      await agent.performed();
      expect(live).toHaveBeenCalledOnce();
      expect(bypassed(tunnel)).toEqual(["10.7.0.53"]);
      expect(reads - before).toBe(1);
    });

    test("notices another network without a question", async () => {
      const clock = new StoppedClock();
      const { agent, tunnel, names } = await start({ clock });
      await controlPlane.send(controlPlane.signed(content));
      learn(names, clock, "10.7.0.1");
      await agent.namesChanged();
      network = { resolvers: new Set(), routers: new Set(["10.7.0.1"]) };
      await vi.waitUntil(
        () => {
          clock.pass(5_000);
          return bypassed(tunnel).includes("10.7.0.1");
        },
        { timeout: waitLimitMs, interval: 20 },
      );
      // Connections to the address must not reach the router instead.
      expect(tunnel.wanted?.routes).toContain("10.7.0.1/32");
    });

    test("applies the addresses of a burst of names together", async () => {
      const clock = new StoppedClock();
      const { agent, tunnel, names } = await start({ clock });
      await controlPlane.send(controlPlane.signed(content));
      let changes = 0;
      const apply = tunnel.apply.bind(tunnel);
      tunnel.apply = (wanted) => {
        changes += 1;
        return apply(wanted);
      };
      const addresses = Array.from({ length: 20 }, (_, index) => `10.90.0.${index + 1}`);
      await Promise.all(
        addresses.map((address) => {
          learn(names, clock, address);
          return agent.namesChanged();
        }),
      );
      expect(tunnel.wanted?.routes).toEqual(expect.arrayContaining(addresses.map((address) => `${address}/32`)));
      expect(changes).toBeLessThanOrEqual(2);
    });
  });

  test("restores a tunnel that another program removed", async () => {
    const clock = new StoppedClock();
    const { tunnel } = await start({ clock });
    await controlPlane.send(controlPlane.signed(content));
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
    expect(log.join("\n")).toContain('tunnel is gone; restoring it err="no such device"');
  });

  test("refuses the configurations of another server", async () => {
    const { stop } = await start();
    await controlPlane.send(controlPlane.signed(content));
    await stop();
    await controlPlane.close();
    controlPlane = new FakeControlPlane(content.device);
    url = await controlPlane.listen();
    const { tunnel, link } = await start({ links: false });
    link.start();
    await vi.waitUntil(() => log.some((line) => line.includes("server is not the pinned one")), {
      timeout: waitLimitMs,
    });
    expect(allowedIps(tunnel)).toEqual(ofExample);
  });

  test("reconnects after the link is lost, and logs a rejected token", async () => {
    await start();
    controlPlane.cut();
    await vi.waitUntil(() => controlPlane.hellos.length === 2, { timeout: waitLimitMs });
    const { link } = await start({ links: false, token: "another" });
    link.start();
    await vi.waitUntil(() => log.some((line) => line.includes("control plane rejected the token")), {
      timeout: waitLimitMs,
    });
  });

  test("closes the link after an invalid frame", async () => {
    await start();
    controlPlane.say({ type: "surprise" });
    await vi.waitUntil(() => controlPlane.hellos.length === 2, { timeout: waitLimitMs });
    expect(log.join("\n")).toContain("invalid frame");
  });
});
