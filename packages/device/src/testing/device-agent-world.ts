/** A machine whose agents link with a control plane that the test controls. Its tunnel only records. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Clock, systemClock } from "@gatehouse/agent-core/clock";
import { HostResolver, type LookUp } from "@gatehouse/agent-core/dns/host-resolver";
import { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import { formatLogLine, type Log } from "@gatehouse/agent-core/log";
import { generatedKeys } from "@gatehouse/agent-core/testing/generated-keys";
import { vi } from "vitest";
import { waitLimitMs } from "../../../../test/wait-limit.ts";
import { DeviceFolder } from "../configuration/device-folder.ts";
import { DeviceAgent } from "../device-agent.ts";
import { DeviceLink } from "../link/device-link.ts";
import type { LocalNetwork } from "../tunnel/local-network.ts";
import { exampleDeviceConfiguration } from "./example-device-configuration.ts";
import { FakeControlPlane } from "./fake-control-plane.ts";
import { RecordingTunnel } from "./recording-tunnel.ts";

const { device } = exampleDeviceConfiguration();

interface Start {
  readonly clock?: Clock;
  readonly links?: boolean;
  readonly token?: string;
  /** The machine's error at the first change. */
  readonly refusal?: string;
  readonly lookUp?: LookUp;
}

export async function startDeviceAgentWorld(): Promise<DeviceAgentWorld> {
  const world = new DeviceAgentWorld(await mkdtemp(path.join(tmpdir(), "gatehouse-device-")));
  await world.replaceControlPlane();
  return world;
}

export class DeviceAgentWorld {
  readonly #folder: string;
  #url = "";
  readonly #running: (() => Promise<void>)[] = [];
  /** The path of the state folder. */
  readonly state: string;
  controlPlane = new FakeControlPlane(device);
  readonly log: string[] = [];
  network: LocalNetwork = { resolvers: new Set(["192.168.1.1"]), routers: new Set() };
  /** How often the network was read. */
  reads = 0;

  constructor(folder: string) {
    this.#folder = folder;
    this.state = path.join(folder, "state");
  }

  /** Starts another control plane, at another address. */
  async replaceControlPlane(): Promise<void> {
    this.controlPlane = new FakeControlPlane(device);
    this.#url = await this.controlPlane.listen();
  }

  /** Starts an agent, with the state of an earlier one. */
  async start(options: Start = {}) {
    const { clock = systemClock, links = true, token = this.controlPlane.token, refusal } = options;
    const { lookUp = async () => ["192.0.2.9"] } = options;
    const url = this.#url;
    const folder = new DeviceFolder(this.state);
    await folder.make();
    const publicKey = await folder.publicKey();
    const tunnel = new RecordingTunnel();
    tunnel.refusal = refusal;
    const say: Log = (message, fields) => void this.log.push(formatLogLine(message, fields));
    const hosts = new HostResolver(clock, lookUp);
    const names = new ResolvedNames();
    const localNetwork = async () => {
      this.reads += 1;
      return this.network;
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
    this.#running.push(stop);
    if (links) {
      link.start();
      await vi.waitUntil(() => this.controlPlane.isLinked, { timeout: waitLimitMs });
    }
    return { agent, tunnel, folder, link, stop, publicKey, names };
  }

  async end(): Promise<void> {
    for (const stop of this.#running.splice(0)) await stop();
    await this.controlPlane.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
