/**
 * Agents of many devices in one process, over real WebSockets. Each agent verifies the signature and the content of
 * each configuration that it receives, and responds.
 */
import { createHash } from "node:crypto";
import type { SignedDeviceConfiguration } from "@gatehouse/agent-protocol/device/configuration";
import { deviceContentHash, deviceSignedText } from "@gatehouse/agent-protocol/device/envelope";
import {
  type DeviceServerMessage,
  deviceLinkPath,
  deviceLinkSubprotocols,
} from "@gatehouse/agent-protocol/device/frames";
import { configurationName } from "@gatehouse/agent-protocol/link/envelope";
import type { Tokened } from "./linked-tenant.ts";
import { SimulatedAgent } from "./simulated-agent.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

export class SimulatedDevices {
  /** Figures since the last call of `take`. */
  figures = { acknowledged: 0, failures: 0, bytes: 0, lastAcknowledgedAt: 0 };
  readonly #agents: Device[];

  constructor(devices: readonly Tokened[]) {
    this.#agents = devices.map((device) => new Device(this, device));
  }

  /** Returns the figures and resets them. */
  take(): SimulatedDevices["figures"] {
    const { figures } = this;
    this.figures = { acknowledged: 0, failures: 0, bytes: 0, lastAcknowledgedAt: 0 };
    return figures;
  }

  /** Connects all agents at once to the server at a URL. @returns once the last one has its welcome */
  async connect(url: string): Promise<void> {
    const place = { url, path: deviceLinkPath, subprotocol: deviceLinkSubprotocols[2] };
    await Promise.all(this.#agents.map((agent) => agent.connect(place)));
  }

  heartbeat(): void {
    for (const agent of this.#agents) agent.heartbeat();
  }

  cut(): void {
    for (const agent of this.#agents) agent.cut();
  }

  /** The number of devices that have a configuration. */
  get holding(): number {
    return this.#agents.filter(({ carriers }) => carriers !== undefined).length;
  }

  /** The number of devices that send traffic through a gateway. */
  through(gatewayId: string): number {
    return this.#agents.filter(({ carriers }) => carriers?.includes(gatewayId) === true).length;
  }
}

class Device extends SimulatedAgent<DeviceServerMessage> {
  readonly #all: SimulatedDevices;
  protected readonly news = { gateways: [] };
  /** The gateways of the configuration in use. */
  carriers: readonly string[] | undefined;

  constructor(all: SimulatedDevices, { id, token }: Tokened) {
    super(id, token);
    this.#all = all;
  }

  protected hello(): object {
    const digest = createHash("sha256").update(this.id).digest();
    digest[31] = 0;
    const publicKey = digest.toString("base64");
    return { type: "hello", agentVersion: "bench", publicKey, uses: null, format: 1 };
  }

  protected came(bytes: number): void {
    this.#all.figures.bytes += bytes;
  }

  protected heard(message: DeviceServerMessage): void {
    if (message.type === "configuration") this.#configured(message.configuration);
  }

  #configured({ header, signature, content }: SignedDeviceConfiguration): void {
    const { figures } = this.#all;
    const name = configurationName(header, sha256);
    const isSigned = this.isSigned(deviceSignedText(name), signature);
    if (!isSigned || header.device !== this.id || deviceContentHash(content, sha256) !== header.content) {
      figures.failures += 1;
      this.say({ type: "failed", configuration: name, reason: "forged", message: "" });
      return;
    }
    this.carriers = content.gateways.map(({ gateway }) => gateway);
    this.say({ type: "applied", configuration: name });
    figures.acknowledged += 1;
    figures.lastAcknowledgedAt = performance.now();
  }
}
