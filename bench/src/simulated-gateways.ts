/**
 * Many gateways' agents in one process, over real WebSockets. Each verifies the signature of each configuration that it is sent, and answers. That
 * a content has the root that was signed is verified once for all that have the same, as the real ones would do it at the same time, each on its
 * own machine; and they share what they hold.
 */
import { createHash, createPublicKey, type KeyObject, randomBytes, verify } from "node:crypto";
import type { ConfigurationEnvelope } from "@gatehouse/contract/gateway-link/configuration";
import {
  type ContentTree,
  contentRoot,
  contentTreeOf,
  withDifference,
} from "@gatehouse/contract/gateway-link/content-tree";
import { nameOf, signedText } from "@gatehouse/contract/gateway-link/envelope";
import {
  type ConfigurationName,
  type Difference,
  gatewayLinkPath,
  gatewayLinkSubprotocol,
  type ServerFrame,
  type ServerMessage,
  type Whole,
} from "@gatehouse/contract/gateway-link/frames";
import { PartsReader } from "@gatehouse/contract/gateway-link/message-parts";
import { WebSocket } from "ws";

const derPrefix = Buffer.from("302a300506032b6570032100", "hex");
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** What happened since it was last looked at. */
export interface Figures {
  acknowledged: number;
  bytes: number;
  wholes: number;
  differences: number;
  failures: number;
  /** By `performance.now()`. */
  lastAcknowledgedAt: number;
}

const nothing = (): Figures => ({
  acknowledged: 0,
  bytes: 0,
  wholes: 0,
  differences: 0,
  failures: 0,
  lastAcknowledgedAt: 0,
});

export class SimulatedGateways {
  figures = nothing();
  readonly #agents: Agent[];
  /** Contents by root, and roots that were found to be right. */
  readonly contents = new Map<string, ContentTree>();
  readonly publicKeys = new Map<string, KeyObject>();

  constructor(gateways: readonly { readonly id: string; readonly token: string }[]) {
    this.#agents = gateways.map(({ id, token }) => new Agent(this, id, token));
  }

  /** Takes the figures, and begins anew. */
  take(): Figures {
    const { figures } = this;
    this.figures = nothing();
    return figures;
  }

  /** Connects all at once to the server at a URL. @returns when the last one was welcomed */
  async connect(url: string): Promise<void> {
    const link = url.replace(/^http/, "ws") + gatewayLinkPath;
    await Promise.all(this.#agents.map((agent) => agent.connect(link)));
  }

  cut(): void {
    for (const agent of this.#agents) agent.cut();
  }

  heartbeat(): void {
    for (const agent of this.#agents) agent.heartbeat();
  }

  /** How many hold something. */
  get holding(): number {
    return this.#agents.filter(({ held }) => held !== undefined).length;
  }

  /** Forgets contents that nobody holds. */
  tidy(): void {
    const roots = new Set(this.#agents.map(({ held }) => held?.envelope.header.root));
    for (const root of this.contents.keys()) if (!roots.has(root)) this.contents.delete(root);
  }
}

class Agent {
  readonly #all: SimulatedGateways;
  readonly #id: string;
  readonly #token: string;
  readonly #publicKey = randomBytes(32).toString("base64");
  #webSocket: WebSocket | undefined;
  #parts = new PartsReader();
  #key: KeyObject | undefined;
  #sequence = 0;
  #welcomed: () => void = () => undefined;
  held: { readonly name: ConfigurationName; readonly envelope: ConfigurationEnvelope } | undefined;

  constructor(all: SimulatedGateways, id: string, token: string) {
    this.#all = all;
    this.#id = id;
    this.#token = token;
  }

  connect(url: string): Promise<void> {
    const webSocket = new WebSocket(url, gatewayLinkSubprotocol, {
      headers: { authorization: `Bearer ${this.#token}` },
      perMessageDeflate: false,
    });
    this.#webSocket = webSocket;
    this.#parts = new PartsReader();
    webSocket.on("open", () => {
      const { held } = this;
      const { root, expiresAt } = held?.envelope.header ?? { root: "", expiresAt: 0 };
      const enforces = held === undefined ? null : { ...held.name, root, expiresAt };
      this.#say({ type: "hello", agentVersion: "bench", publicKey: this.#publicKey, enforces, format: 1 });
    });
    webSocket.on("message", (content: Buffer) => {
      this.#all.figures.bytes += content.length;
      this.#read(JSON.parse(String(content)) as ServerFrame);
    });
    return new Promise((resolve, reject) => {
      this.#welcomed = resolve;
      webSocket.on("error", reject);
      webSocket.on("close", (code) => reject(new Error(`the link was closed with ${code}`)));
    });
  }

  cut(): void {
    this.#webSocket?.removeAllListeners("message");
    this.#webSocket?.terminate();
  }

  heartbeat(): void {
    this.#sequence += 1;
    this.#say({ type: "heartbeat", sequence: this.#sequence, load: 0.5, roundTripTimeMs: 5, peers: [] });
  }

  #say(message: object): void {
    if (this.#webSocket?.readyState === WebSocket.OPEN) this.#webSocket.send(JSON.stringify(message));
  }

  #read(frame: ServerFrame): void {
    if (frame.type === "part") {
      const whole = this.#parts.read(frame);
      if (typeof whole === "object") this.#read(JSON.parse(whole.text) as ServerMessage);
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
    } else if (frame.type === "whole" || frame.type === "difference") this.#configured(frame);
  }

  #configured(message: Whole | Difference): void {
    const { figures, contents } = this.#all;
    const { envelope } = message;
    const { root, gateway } = envelope.header;
    const name = nameOf(envelope.header, sha256);
    const signature = Buffer.from(envelope.signature, "base64");
    const isSigned = this.#key !== undefined && verify(null, Buffer.from(signedText(name)), this.#key, signature);
    if (message.type === "whole") figures.wholes += 1;
    else figures.differences += 1;
    if (!isSigned || gateway !== this.#id || !this.#isRight(message, root, contents)) {
      figures.failures += 1;
      this.#say({ type: "failed", configuration: name, reason: "forged", message: "" });
      return;
    }
    this.held = { name, envelope };
    this.#say({ type: "applied", configuration: name });
    figures.acknowledged += 1;
    figures.lastAcknowledgedAt = performance.now();
  }

  #isRight(message: Whole | Difference, root: string, contents: Map<string, ContentTree>): boolean {
    if (contents.has(root)) return true;
    const base = contents.get(this.held?.envelope.header.root ?? "");
    if (message.type === "difference" && base === undefined) return false;
    const content =
      message.type === "whole" || base === undefined
        ? contentTreeOf((message as Whole).content) // a difference without a base was refused above
        : withDifference(base, message.difference);
    if (contentRoot(content, sha256) !== root) return false;
    contents.set(root, content);
    return true;
  }
}
