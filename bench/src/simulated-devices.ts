/**
 * Many devices' agents in one process, over real WebSockets. Each verifies the signature and the content of each configuration that it is sent, and
 * answers.
 */
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import type { SignedDeviceConfiguration } from "@gatehouse/contract/device-link/device-configuration";
import {
  deviceConfigurationName,
  deviceContentHash,
  deviceSignedText,
} from "@gatehouse/contract/device-link/device-envelope";
import {
  type DeviceServerFrame,
  type DeviceServerMessage,
  deviceLinkPath,
  deviceLinkSubprotocol,
} from "@gatehouse/contract/device-link/frames";
import { PartsReader } from "@gatehouse/contract/gateway-link/message-parts";
import { WebSocket } from "ws";
import type { Tokened } from "./linked-tenant.ts";

const derPrefix = Buffer.from("302a300506032b6570032100", "hex");
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

export class SimulatedDevices {
  /** What happened since it was last looked at. */
  figures = { acknowledged: 0, failures: 0, bytes: 0, lastAcknowledgedAt: 0 };
  readonly publicKeys = new Map<string, KeyObject>();
  readonly #agents: Agent[];

  constructor(devices: readonly Tokened[]) {
    this.#agents = devices.map(({ id, token }) => new Agent(this, id, token));
  }

  /** Takes the figures, and begins anew. */
  take(): SimulatedDevices["figures"] {
    const { figures } = this;
    this.figures = { acknowledged: 0, failures: 0, bytes: 0, lastAcknowledgedAt: 0 };
    return figures;
  }

  /** Connects all at once to the server at a URL. @returns when the last one was welcomed */
  async connect(url: string): Promise<void> {
    const link = url.replace(/^http/, "ws") + deviceLinkPath;
    await Promise.all(this.#agents.map((agent) => agent.connect(link)));
  }

  heartbeat(): void {
    for (const agent of this.#agents) agent.heartbeat();
  }

  cut(): void {
    for (const agent of this.#agents) agent.cut();
  }

  /** How many hold a configuration. */
  get holding(): number {
    return this.#agents.filter(({ carriers }) => carriers !== undefined).length;
  }

  /** How many send anything through a gateway. */
  through(gatewayId: string): number {
    return this.#agents.filter(({ carriers }) => carriers?.includes(gatewayId) === true).length;
  }
}

class Agent {
  readonly #all: SimulatedDevices;
  readonly #id: string;
  readonly #token: string;
  #webSocket: WebSocket | undefined;
  #parts = new PartsReader();
  #key: KeyObject | undefined;
  #sequence = 0;
  #welcomed: () => void = () => undefined;
  /** The gateways of the configuration in use. */
  carriers: readonly string[] | undefined;

  constructor(all: SimulatedDevices, id: string, token: string) {
    this.#all = all;
    this.#id = id;
    this.#token = token;
  }

  connect(link: string): Promise<void> {
    const webSocket = new WebSocket(link, deviceLinkSubprotocol, {
      headers: { authorization: `Bearer ${this.#token}` },
      perMessageDeflate: false,
    });
    this.#webSocket = webSocket;
    this.#parts = new PartsReader();
    webSocket.on("open", () => {
      const publicKey = createHash("sha256").update(this.#id).digest("base64");
      this.#say({ type: "hello", agentVersion: "bench", publicKey, uses: null, format: 1 });
    });
    webSocket.on("message", (content: Buffer) => {
      this.#all.figures.bytes += content.length;
      this.#read(JSON.parse(String(content)) as DeviceServerFrame);
    });
    return new Promise((resolve, reject) => {
      this.#welcomed = resolve;
      webSocket.on("error", reject);
      webSocket.on("close", (code) => reject(new Error(`the link was closed with ${code}`)));
    });
  }

  heartbeat(): void {
    this.#sequence += 1;
    this.#say({ type: "heartbeat", sequence: this.#sequence, gateways: [] });
  }

  cut(): void {
    this.#webSocket?.removeAllListeners("message");
    this.#webSocket?.terminate();
  }

  #say(message: object): void {
    if (this.#webSocket?.readyState === WebSocket.OPEN) this.#webSocket.send(JSON.stringify(message));
  }

  #read(frame: DeviceServerFrame): void {
    if (frame.type === "part") {
      const whole = this.#parts.read(frame);
      if (typeof whole === "object") this.#read(JSON.parse(whole.text) as DeviceServerMessage);
    } else if (frame.type === "welcome") {
      const { publicKeys } = this.#all;
      let key = publicKeys.get(frame.signingKey);
      if (key === undefined) {
        const der = Buffer.concat([derPrefix, Buffer.from(frame.signingKey, "base64")]);
        key = createPublicKey({ key: der, format: "der", type: "spki" });
        publicKeys.set(frame.signingKey, key);
      }
      this.#key = key;
      this.#welcomed();
    } else if (frame.type === "configuration") this.#configured(frame.configuration);
  }

  #configured({ header, signature, content }: SignedDeviceConfiguration): void {
    const { figures } = this.#all;
    const name = deviceConfigurationName(header, sha256);
    const text = Buffer.from(deviceSignedText(name));
    const isSigned = this.#key !== undefined && verify(null, text, this.#key, Buffer.from(signature, "base64"));
    if (!isSigned || header.device !== this.#id || deviceContentHash(content, sha256) !== header.content) {
      figures.failures += 1;
      this.#say({ type: "failed", configuration: name, reason: "forged", message: "" });
      return;
    }
    this.carriers = content.gateways.map(({ gateway }) => gateway);
    this.#say({ type: "applied", configuration: name });
    figures.acknowledged += 1;
    figures.lastAcknowledgedAt = performance.now();
  }
}
