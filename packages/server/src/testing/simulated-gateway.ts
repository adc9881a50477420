/** A gateway's agent over a real socket, without a kernel: what it is sent it verifies and holds, or refuses as it is told to. */
import { createHash, createPublicKey, type KeyObject, randomBytes, verify } from "node:crypto";
import type { ConfigurationEnvelope } from "@gatehouse/agent-protocol/gateway/configuration";
import {
  type ContentTree,
  contentRoot,
  contentTreeOf,
  withDifference,
} from "@gatehouse/agent-protocol/gateway/content-tree";
import { envelopeFault } from "@gatehouse/agent-protocol/gateway/envelope";
import {
  type AgentMessage,
  type Difference,
  type FailureReason,
  gatewayLinkPath,
  gatewayLinkSubprotocol,
  type PeerReport,
  type ServerFrame,
  type ServerMessage,
  type Whole,
} from "@gatehouse/agent-protocol/gateway/frames";
import { type ConfigurationName, configurationName } from "@gatehouse/agent-protocol/link/envelope";
import { WebSocket } from "ws";

/** Of an Ed25519 key's DER form (RFC 8410). */
const derPrefix = Buffer.from("302a300506032b6570032100", "hex");
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

export interface SimulatedGatewayOptions {
  /** `http://…` of a replica. */
  readonly url: string;
  readonly gatewayId: string;
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Undefined: it answers nothing at all to a configuration. */
  readonly verdict?: (name: ConfigurationName) => "apply" | FailureReason | undefined;
  readonly publicKey?: string;
  /** Told of each configuration that it holds from now on. */
  readonly applied?: (name: ConfigurationName) => void;
}

/** What happened to it, for tests to look at. */
export interface Seen {
  readonly wholes: number;
  readonly differences: number;
  readonly bytes: number;
}

export class SimulatedGateway {
  url: string;
  readonly #options: SimulatedGatewayOptions;
  #webSocket: WebSocket | undefined;
  #parts: string[] = [];
  #keys = new Map<string, KeyObject>();
  #sequence = 0;
  signingKey: string | undefined;
  name: ConfigurationName | undefined;
  envelope: ConfigurationEnvelope | undefined;
  content: ContentTree | undefined;
  verdict: NonNullable<SimulatedGatewayOptions["verdict"]>;
  token: string;
  readonly publicKey: string;
  readonly goodbyes: ServerMessage[] = [];
  readonly answers: number[] = [];
  readonly closes: number[] = [];
  seen: Seen = { wholes: 0, differences: 0, bytes: 0 };

  constructor(options: SimulatedGatewayOptions) {
    this.#options = options;
    this.url = options.url;
    this.token = options.token;
    this.verdict = options.verdict ?? (() => "apply");
    // The last of the 32 bytes leaves no bits over in base64.
    this.publicKey = options.publicKey ?? randomBytes(32).toString("base64");
  }

  get isOpen(): boolean {
    return this.#webSocket?.readyState === WebSocket.OPEN;
  }

  /** Opens the link and says hello. @returns the HTTP status where it was refused, else 101 */
  async connect(
    hello: Partial<Extract<AgentMessage, { type: "hello" }>> = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<number> {
    const status = await this.open(headers);
    if (status === 101) this.sayHello(hello);
    return status;
  }

  open(headers: Readonly<Record<string, string>> = {}): Promise<number> {
    const webSocket = new WebSocket(`${this.url.replace(/^http/, "ws")}${gatewayLinkPath}`, gatewayLinkSubprotocol, {
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

  sayHello(hello: Partial<Extract<AgentMessage, { type: "hello" }>> = {}): void {
    const { publicKey, name, envelope } = this;
    const enforces =
      name === undefined || envelope === undefined
        ? null
        : { ...name, root: envelope.header.root, expiresAt: envelope.header.expiresAt };
    this.say({ type: "hello", agentVersion: "0.1.0", publicKey, enforces, format: 1, ...hello });
  }

  heartbeat(
    fields: {
      readonly load?: number;
      readonly roundTripTimeMs?: number;
      readonly peers?: PeerReport[];
      readonly warnings?: string[];
    } = {},
  ): void {
    this.#sequence += 1;
    this.say({ type: "heartbeat", sequence: this.#sequence, peers: [], ...fields });
  }

  say(message: AgentMessage): void {
    this.sayText(JSON.stringify(message));
  }

  sayText(text: string | Buffer): void {
    this.#webSocket?.send(text);
  }

  /** As a machine that loses its network. */
  cut(): void {
    this.#webSocket?.terminate();
  }

  /** Reads nothing more, or again. */
  pause(): void {
    this.#webSocket?.pause();
  }
  resume(): void {
    this.#webSocket?.resume();
  }

  #received(text: string): void {
    this.seen = { ...this.seen, bytes: this.seen.bytes + text.length };
    const frame: ServerFrame = JSON.parse(text);
    if (frame.type !== "part") {
      this.#heard(frame);
      return;
    }
    this.#parts.push(frame.text);
    if (!frame.isLast) return;
    const whole: ServerMessage = JSON.parse(this.#parts.join(""));
    this.#parts = [];
    this.#heard(whole);
  }

  #heard(message: ServerMessage): void {
    if (message.type === "welcome") this.signingKey ??= message.signingKey;
    else if (message.type === "goodbye") this.goodbyes.push(message);
    else if (message.type === "heartbeat-answer") this.answers.push(message.sequence);
    else this.#configured(message);
  }

  #configured(message: Whole | Difference): void {
    const { seen } = this;
    this.seen =
      message.type === "whole" ? { ...seen, wholes: seen.wholes + 1 } : { ...seen, differences: seen.differences + 1 };
    const configuration = configurationName(message.envelope.header, sha256);
    const verdict = this.verdict(configuration);
    if (verdict === undefined) return;
    const reason = verdict === "apply" ? this.#apply(message, configuration) : verdict;
    if (reason === undefined) this.say({ type: "applied", configuration });
    else this.say({ type: "failed", configuration, reason, message: `was told to say ${reason}` });
    if (reason === undefined) this.#options.applied?.(configuration);
  }

  #apply(message: Whole | Difference, name: ConfigurationName): FailureReason | undefined {
    const { gatewayId: gateway, now = Date.now } = this.#options;
    const { envelope } = message;
    const fault = envelopeFault(
      envelope,
      { gateway, tenant: undefined, signingKey: this.signingKey ?? "", latest: this.name, now: now() },
      { sha256, verify: (text, signature, key) => this.#verify(text, signature, key) },
    );
    if (fault !== undefined) return fault;
    if (message.type === "difference" && (this.content === undefined || message.base.hash !== this.name?.hash)) {
      return "unknown_base";
    }
    const content =
      message.type === "whole" || this.content === undefined
        ? contentTreeOf((message as Whole).content) // a difference without a base was refused above
        : withDifference(this.content, message.difference);
    if (contentRoot(content, sha256) !== envelope.header.root) return "wrong_root";
    this.content = content;
    this.envelope = envelope;
    this.name = name;
    return undefined;
  }

  #verify(text: string, signature: string, signingKey: string): boolean {
    let key = this.#keys.get(signingKey);
    if (key === undefined) {
      const der = Buffer.concat([derPrefix, Buffer.from(signingKey, "base64")]);
      key = createPublicKey({ key: der, format: "der", type: "spki" });
      this.#keys.set(signingKey, key);
    }
    return verify(null, Buffer.from(text), key, Buffer.from(signature, "base64"));
  }
}
