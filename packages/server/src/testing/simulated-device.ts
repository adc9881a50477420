/** A device's agent over a real socket, without WireGuard: what it is sent it verifies and holds, or refuses as it is told to. */
import { createHash, createPublicKey, verify } from "node:crypto";
import type { SignedDeviceConfiguration } from "@gatehouse/agent-protocol/device/configuration";
import { deviceConfigurationFault } from "@gatehouse/agent-protocol/device/envelope";
import {
  type DeviceFailureReason,
  type DeviceGoodbye,
  type DeviceHello,
  type DeviceMessage,
  type DeviceServerFrame,
  type DeviceServerMessage,
  type DeviceWelcome,
  deviceLinkPath,
  deviceLinkSubprotocol,
} from "@gatehouse/agent-protocol/device/frames";
import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import { configurationName } from "@gatehouse/agent-protocol/link/envelope";
import {
  type DeviceConfiguration as Configuration,
  DeviceConfiguration,
} from "@gatehouse/contract/records/device-configuration";
import { WebSocket } from "ws";
import { compileCheck } from "../http/validation.ts";

/** Of an Ed25519 key's DER form (RFC 8410). */
const derPrefix = Buffer.from("302a300506032b6570032100", "hex");
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const formFaults = compileCheck(DeviceConfiguration);

export interface SimulatedDeviceOptions {
  /** `http://…` of a replica. */
  readonly url: string;
  readonly deviceId: string;
  readonly token: string;
  readonly publicKey: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export class SimulatedDevice {
  url: string;
  token: string;
  publicKey: string;
  readonly #options: SimulatedDeviceOptions;
  #webSocket: WebSocket | undefined;
  #parts: string[] = [];
  #sequence = 0;
  welcome: DeviceWelcome | undefined;
  /** What it uses. */
  uses: ConfigurationName | undefined;
  signed: SignedDeviceConfiguration | undefined;
  /** Undefined: it answers nothing at all to a configuration. */
  verdict: (name: ConfigurationName) => "apply" | DeviceFailureReason | undefined = () => "apply";
  /** How many configurations it was sent. */
  sent = 0;
  readonly goodbyes: DeviceGoodbye[] = [];
  readonly answers: number[] = [];
  readonly closes: number[] = [];

  constructor(options: SimulatedDeviceOptions) {
    this.#options = options;
    this.url = options.url;
    this.token = options.token;
    this.publicKey = options.publicKey;
  }

  get isOpen(): boolean {
    return this.#webSocket?.readyState === WebSocket.OPEN;
  }

  get content(): Configuration | undefined {
    return this.signed?.content;
  }

  /** Which gateway takes its packets to an address or block, as configurations write it, or is asked for a name. */
  wayTo(key: string): string | undefined {
    return this.content?.gateways.find(({ allowedIps, names }) => [...allowedIps, ...names].includes(key))?.gateway;
  }

  /** Opens the link and says hello. @returns the HTTP status where it was refused, else 101 */
  async connect(hello: Partial<DeviceHello> = {}, headers: Readonly<Record<string, string>> = {}): Promise<number> {
    const status = await this.open(headers);
    if (status === 101) this.sayHello(hello);
    return status;
  }

  open(headers: Readonly<Record<string, string>> = {}): Promise<number> {
    const webSocket = new WebSocket(`${this.url.replace(/^http/, "ws")}${deviceLinkPath}`, deviceLinkSubprotocol, {
      headers: { authorization: `Bearer ${this.token}`, ...headers },
      perMessageDeflate: false,
    });
    this.#webSocket = webSocket;
    this.#parts = [];
    webSocket.on("message", (content) => {
      if (webSocket === this.#webSocket) this.#received(String(content));
    });
    webSocket.on("close", (code) => {
      if (webSocket === this.#webSocket) this.closes.push(code);
    });
    return new Promise((resolve, reject) => {
      webSocket.on("open", () => resolve(101));
      webSocket.on("unexpected-response", (_request, response) => {
        resolve(response.statusCode ?? 0);
        response.destroy();
      });
      webSocket.on("error", reject);
    });
  }

  sayHello(hello: Partial<DeviceHello> = {}): void {
    const { publicKey, uses = null } = this;
    this.say({ type: "hello", agentVersion: "0.1.0", publicKey, uses, format: 1, ...hello });
  }

  heartbeat(): void {
    this.#sequence += 1;
    this.say({ type: "heartbeat", sequence: this.#sequence, gateways: [] });
  }

  say(message: DeviceMessage): void {
    this.sayText(JSON.stringify(message));
  }

  sayText(text: string | Buffer): void {
    this.#webSocket?.send(text);
  }

  /** As a machine that loses its network. */
  cut(): void {
    this.#webSocket?.terminate();
  }

  #received(text: string): void {
    const frame: DeviceServerFrame = JSON.parse(text);
    if (frame.type !== "part") {
      this.#heard(frame);
      return;
    }
    this.#parts.push(frame.text);
    if (!frame.isLast) return;
    const whole: DeviceServerMessage = JSON.parse(this.#parts.join(""));
    this.#parts = [];
    this.#heard(whole);
  }

  #heard(message: DeviceServerMessage): void {
    if (message.type === "welcome") this.welcome = message;
    else if (message.type === "goodbye") this.goodbyes.push(message);
    else if (message.type === "heartbeat-answer") this.answers.push(message.sequence);
    else this.#configured(message.configuration);
  }

  #configured(signed: SignedDeviceConfiguration): void {
    this.sent += 1;
    const configuration = configurationName(signed.header, sha256);
    const verdict = this.verdict(configuration);
    if (verdict === undefined) return;
    const reason = verdict === "apply" ? this.#apply(signed, configuration) : verdict;
    if (reason === undefined) this.say({ type: "applied", configuration });
    else this.say({ type: "failed", configuration, reason, message: `was told to say ${reason}` });
  }

  #apply(signed: SignedDeviceConfiguration, name: ConfigurationName): DeviceFailureReason | undefined {
    const { deviceId: device, now = Date.now } = this.#options;
    const { tenant, signingKey = "" } = this.welcome ?? {};
    const fault = deviceConfigurationFault(
      signed,
      { device, tenant, signingKey, latest: this.uses, now: now() },
      { sha256, verify: isSignedBy, hasForm: (content) => formFaults(content).length === 0 },
    );
    if (fault !== undefined) return fault;
    this.signed = signed;
    this.uses = name;
    return undefined;
  }
}

function isSignedBy(text: string, signature: string, signingKey: string): boolean {
  const der = Buffer.concat([derPrefix, Buffer.from(signingKey, "base64")]);
  const key = createPublicKey({ key: der, format: "der", type: "spki" });
  return verify(null, Buffer.from(text), key, Buffer.from(signature, "base64"));
}
