/**
 * The agent's end of a link, common to all simulated agents: a WebSocket that sends a hello, and reads messages that
 * may arrive in parts.
 */
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { Part } from "@gatehouse/agent-protocol/link/frames";
import { PartsReader } from "@gatehouse/agent-protocol/link/message-parts";
import { WebSocket } from "ws";

/** The prefix of an Ed25519 key's DER form (RFC 8410). */
const derPrefix = Buffer.from("302a300506032b6570032100", "hex");
/** Created once for all agents of a tenant. */
const publicKeys = new Map<string, KeyObject>();

let addresses = 0;

/** Linux accepts every address of 127.0.0.0/8 on its loopback interface. */
function nextLoopbackAddress(): string | undefined {
  if (process.platform !== "linux") return undefined;
  addresses += 1;
  return `127.${1 + (addresses >> 16)}.${(addresses >> 8) & 255}.${addresses & 255}`;
}

export interface LinkPlace {
  /** The server's URL, `http://…`. */
  readonly url: string;
  readonly path: string;
  readonly subprotocol: string;
}

type Welcome = { readonly type: "welcome"; readonly signingKey: string };

export abstract class SimulatedAgent<Message extends { readonly type: string }> {
  readonly id: string;
  readonly #token: string;
  /** Each agent has its own address, because a server limits the connections of one address. */
  readonly #localAddress = nextLoopbackAddress();
  #webSocket: WebSocket | undefined;
  #parts = new PartsReader();
  #key: KeyObject | undefined;
  #sequence = 0;
  #welcomed: () => void = () => undefined;

  constructor(id: string, token: string) {
    this.id = id;
    this.#token = token;
  }

  protected abstract hello(): object;
  /** The content of a heartbeat, apart from its number. */
  protected abstract readonly news: object;
  /** @param message any message except a welcome */
  protected abstract heard(message: Message): void;
  /** @param bytes of a received frame */
  protected abstract came(bytes: number): void;

  /** @returns once the server has sent its welcome */
  connect({ url, path, subprotocol }: LinkPlace): Promise<void> {
    const webSocket = new WebSocket(url.replace(/^http/, "ws") + path, subprotocol, {
      headers: { authorization: `Bearer ${this.#token}` },
      perMessageDeflate: false,
      localAddress: this.#localAddress,
    });
    this.#webSocket = webSocket;
    this.#parts = new PartsReader();
    webSocket.on("open", () => this.say(this.hello()));
    webSocket.on("message", (content: Buffer) => {
      this.came(content.length);
      this.#read(JSON.parse(String(content)) as Message | Welcome | Part);
    });
    return new Promise((resolve, reject) => {
      this.#welcomed = resolve;
      webSocket.on("error", reject);
      webSocket.on("close", (code) => reject(new Error(`the link was closed with ${code}`)));
    });
  }

  /** Cuts the connection like a machine that loses its network. */
  cut(): void {
    this.#webSocket?.removeAllListeners("message");
    this.#webSocket?.terminate();
  }

  heartbeat(): void {
    this.#sequence += 1;
    this.say({ type: "heartbeat", sequence: this.#sequence, ...this.news });
  }

  protected say(message: object): void {
    if (this.#webSocket?.readyState === WebSocket.OPEN) this.#webSocket.send(JSON.stringify(message));
  }

  /** Whether a text is signed by the server that sent the welcome. */
  protected isSigned(text: string, signature: string): boolean {
    return this.#key !== undefined && verify(null, Buffer.from(text), this.#key, Buffer.from(signature, "base64"));
  }

  #read(frame: Message | Welcome | Part): void {
    if (isPart(frame)) {
      const whole = this.#parts.read(frame);
      if (typeof whole === "object") this.#read(JSON.parse(whole.text) as Message | Welcome);
    } else if (isWelcome(frame)) {
      this.#key = publicKeyOf(frame.signingKey);
      this.#welcomed();
    } else this.heard(frame);
  }
}

function isPart(frame: { readonly type: string }): frame is Part {
  return frame.type === "part";
}

function isWelcome(frame: { readonly type: string }): frame is Welcome {
  return frame.type === "welcome";
}

function publicKeyOf(signingKey: string): KeyObject {
  const known = publicKeys.get(signingKey);
  if (known !== undefined) return known;
  const der = Buffer.concat([derPrefix, Buffer.from(signingKey, "base64")]);
  const made = createPublicKey({ key: der, format: "der", type: "spki" });
  publicKeys.set(signingKey, made);
  return made;
}
