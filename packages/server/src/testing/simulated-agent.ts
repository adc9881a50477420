import {
  createHash,
  createHmac,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  verify,
} from "node:crypto";
import type { Part } from "@gatehouse/agent-protocol/link/frames";
import {
  type Challenge,
  type KeyProof,
  keyProofDomain,
  keyProofText,
  type ProvenRole,
  type ProvingKind,
} from "@gatehouse/agent-protocol/link/key-proof";
import { PartsReader } from "@gatehouse/agent-protocol/link/message-parts";
import { WebSocket } from "ws";

/** The prefix of an Ed25519 key in its DER form (RFC 8410). */
const derPrefix = Buffer.from("302a300506032b6570032100", "hex");
/** The prefix of an X25519 public key in its DER form. */
const x25519Prefix = Buffer.from("302a300506032b656e032100", "hex");
/** Parsed once for all agents of a tenant. */
const publicKeys = new Map<string, KeyObject>();

export const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Verifies an Ed25519 signature. Keys and signatures are in base64. */
export function isSignedBy(text: string, signature: string, signingKey: string): boolean {
  let key = publicKeys.get(signingKey);
  if (key === undefined) {
    const der = Buffer.concat([derPrefix, Buffer.from(signingKey, "base64")]);
    key = createPublicKey({ key: der, format: "der", type: "spki" });
    publicKeys.set(signingKey, key);
  }
  return verify(null, Buffer.from(text), key, Buffer.from(signature, "base64"));
}

/** A WireGuard key pair of a simulated agent. */
export class SimulatedKey {
  readonly publicKey: string;
  readonly #privateKey: KeyObject;

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync("x25519");
    this.publicKey = publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64");
    this.#privateKey = privateKey;
  }

  /** @param reported the key in `hello` */
  prove(kind: ProvingKind, challenge: Challenge, reported = this.publicKey, role: ProvenRole = "current"): string {
    const der = Buffer.concat([x25519Prefix, Buffer.from(challenge.ephemeralKey, "base64")]);
    const publicKey = createPublicKey({ key: der, format: "der", type: "spki" });
    const shared = diffieHellman({ privateKey: this.#privateKey, publicKey });
    const key = hkdfSync("sha256", shared, Buffer.from(challenge.nonce, "base64"), keyProofDomain, 32);
    const text = keyProofText(kind, challenge, { publicKey: reported, role });
    return createHmac("sha256", Buffer.from(key)).update(text).digest("base64");
  }

  /** Returns the answer to a challenge. @param former the key that this one replaces */
  answer(kind: ProvingKind, challenge: Challenge, former?: SimulatedKey): KeyProof {
    const proof = this.prove(kind, challenge);
    if (former === undefined) return { type: "proof", proof };
    const { publicKey } = former;
    return {
      type: "proof",
      proof,
      previous: { publicKey, proof: former.prove(kind, challenge, this.publicKey, "previous") },
    };
  }
}

/** The endpoint of one kind of agent. */
export interface AgentEndpoint {
  readonly path: string;
  readonly subprotocol: string;
}

/**
 * The connection of a simulated agent: a WebSocket that sends frames, and joins messages that arrive in parts.
 * Subclasses verify configurations and answer them.
 */
export abstract class SimulatedAgent<
  Sent extends { readonly type: string },
  Received extends { readonly type: string },
> {
  /** `http://…` of a replica. */
  url: string;
  token: string;
  protected endpoint: AgentEndpoint;
  #webSocket: WebSocket | undefined;
  #parts = new PartsReader();
  #sequence = 0;
  /** Close codes of the connections so far. */
  readonly closes: number[] = [];

  constructor(endpoint: AgentEndpoint, url: string, token: string) {
    this.endpoint = endpoint;
    this.url = url;
    this.token = token;
  }

  protected abstract received(message: Received): void;
  /** @param length of a frame that arrived, in characters */
  protected counted(_length: number): void {}

  get isOpen(): boolean {
    return this.#webSocket?.readyState === WebSocket.OPEN;
  }

  /** Opens a connection without a hello. @returns the HTTP status if it was refused, otherwise 101 */
  open(headers: Readonly<Record<string, string>> = {}): Promise<number> {
    const { path, subprotocol } = this.endpoint;
    const webSocket = new WebSocket(`${this.url.replace(/^http/, "ws")}${path}`, subprotocol, {
      headers: { authorization: `Bearer ${this.token}`, ...headers },
      perMessageDeflate: false,
    });
    this.#webSocket = webSocket;
    this.#parts = new PartsReader();
    webSocket.on("message", (content) => {
      if (webSocket === this.#webSocket) this.#read(String(content));
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

  send(message: Sent): void {
    this.sendText(JSON.stringify(message));
  }

  sendText(text: string | Buffer): void {
    if (this.isOpen) this.#webSocket?.send(text);
  }

  /** Cuts the connection without a close frame, like a machine that loses its network. */
  cut(): void {
    this.#webSocket?.terminate();
  }

  /** Stops reading from the socket. */
  pause(): void {
    this.#webSocket?.pause();
  }

  resume(): void {
    this.#webSocket?.resume();
  }

  protected nextSequence(): number {
    this.#sequence += 1;
    return this.#sequence;
  }

  #read(text: string): void {
    this.counted(text.length);
    const frame = JSON.parse(text) as Received | Part; // the server's frames
    if (!isPart(frame)) {
      this.received(frame);
      return;
    }
    const whole = this.#parts.read(frame);
    if (typeof whole === "object") this.received(JSON.parse(whole.text));
  }
}

function isPart(frame: { readonly type: string }): frame is Part {
  return frame.type === "part";
}
