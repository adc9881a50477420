/**
 * A control plane for one device, without a database. It implements the link's frames, and sends what the test
 * requests.
 */
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type {
  DeviceConfigurationHeader,
  SignedDeviceConfiguration,
} from "@gatehouse/agent-protocol/device/configuration";
import { deviceContentHash, deviceSignedText } from "@gatehouse/agent-protocol/device/envelope";
import {
  type DeviceAnswer,
  type DeviceApplied,
  type DeviceFailed,
  type DeviceFrame,
  type DeviceHeartbeat,
  type DeviceHello,
  type DeviceQuestion,
  deviceLinkPath,
} from "@gatehouse/agent-protocol/device/frames";
import { configurationName } from "@gatehouse/agent-protocol/link/envelope";
import { handoverText, type SigningKeyHandover } from "@gatehouse/agent-protocol/link/signing-key-handover";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { type WebSocket, WebSocketServer } from "ws";

export type Answer = DeviceApplied | DeviceFailed;

export class FakeControlPlane {
  readonly tenant = randomUUID();
  readonly device: string;
  readonly token: string;
  readonly hellos: DeviceHello[] = [];
  readonly heartbeats: DeviceHeartbeat[] = [];
  readonly questions: DeviceQuestion[] = [];
  /** The answer to questions; undefined: none. */
  access: Omit<DeviceAnswer, "type" | "number"> | undefined;
  /** The version of the frames, as the last part of the subprotocol. */
  version = 4;
  #signing = generateKeyPairSync("ed25519");
  /** The statements by which each signing key leads to the next one. */
  readonly handovers: SigningKeyHandover[] = [];
  readonly #server: Server;
  readonly #sockets: WebSocketServer;
  #link: WebSocket | undefined;
  #generation = 0;
  #waiting: ((answer: Answer) => void)[] = [];

  constructor(device: string = randomUUID(), token = "device-token") {
    this.device = device;
    this.token = token;
    this.#server = createServer((_, response) => response.writeHead(404).end());
    this.#sockets = new WebSocketServer({ noServer: true, handleProtocols: () => `gatehouse.device.${this.version}` });
    this.#server.on("upgrade", (request, socket, head) => {
      socket.on("error", () => {});
      if (request.url !== deviceLinkPath || request.headers.authorization !== `Bearer ${this.token}`) {
        socket.end("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n");
        return;
      }
      this.#sockets.handleUpgrade(request, socket, head, (link) => this.#serve(link));
    });
  }

  /** @returns its URL */
  async listen(port = 0, host = "127.0.0.1"): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(port, host, resolve));
    const { port: taken } = this.#server.address() as AddressInfo; // a TCP server has one
    return `http://${host}:${taken}`;
  }

  async close(): Promise<void> {
    this.cut();
    this.#sockets.close();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get isLinked(): boolean {
    return this.#link !== undefined;
  }

  get signingKey(): string {
    return this.#signing.publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64");
  }

  /** Replaces the signing key. @param isSigned whether the current key signs the new one */
  rotate(isSigned = true): void {
    const [from, currentKey] = [this.signingKey, this.#signing.privateKey];
    this.#signing = generateKeyPairSync("ed25519");
    const to = this.signingKey;
    const signer = isSigned ? currentKey : this.#signing.privateKey;
    const signature = sign(null, Buffer.from(handoverText({ from, to })), signer).toString("base64");
    this.handovers.push({ from, to, signature });
  }

  /** Closes the link without a goodbye. */
  cut(): void {
    this.#link?.terminate();
    this.#link = undefined;
  }

  /** @param changes changes to the header, which are signed as they are */
  signed(content: DeviceConfiguration, changes: Partial<DeviceConfigurationHeader> = {}): SignedDeviceConfiguration {
    const header: DeviceConfigurationHeader = {
      format: 1,
      tenant: this.tenant,
      device: this.device,
      generation: ++this.#generation,
      issuedAt: Date.now(),
      expiresAt: Date.now() + 3_600_000,
      content: deviceContentHash(content, sha256),
      ...changes,
    };
    const text = Buffer.from(deviceSignedText(configurationName(header, sha256)));
    return { header, signature: sign(null, text, this.#signing.privateKey).toString("base64"), content };
  }

  /** @returns the device's answer */
  send(configuration: unknown): Promise<Answer> {
    const answer = new Promise<Answer>((resolve) => this.#waiting.push(resolve));
    this.say({ type: "configuration", configuration });
    return answer;
  }

  say(frame: object): void {
    this.#link?.send(JSON.stringify(frame));
  }

  #serve(link: WebSocket): void {
    link.on("close", () => {
      if (this.#link === link) this.#link = undefined;
    });
    link.on("message", (bytes) => {
      const frame = JSON.parse(String(bytes)) as DeviceFrame; // devices of tests alone connect
      if (frame.type === "hello") {
        this.hellos.push(frame);
        const { tenant, device, signingKey } = this;
        const handovers = this.handovers.length === 0 ? {} : { handovers: this.handovers };
        const rest = { heartbeatIntervalMs: 500, now: Date.now() };
        link.send(JSON.stringify({ type: "welcome", tenant, device, signingKey, ...handovers, ...rest }));
        this.#link = link;
      } else if (frame.type === "heartbeat") {
        this.heartbeats.push(frame);
        link.send(JSON.stringify({ type: "heartbeat-answer", sequence: frame.sequence }));
      } else if (frame.type === "question") {
        this.questions.push(frame);
        if (this.access !== undefined) {
          link.send(JSON.stringify({ type: "answer", number: frame.number, ...this.access }));
        }
      } else if (frame.type === "applied" || frame.type === "failed") this.#waiting.shift()?.(frame);
    });
  }
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
