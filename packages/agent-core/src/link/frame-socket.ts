/**
 * A WebSocket that speaks frames: what arrives has its form and is whole, what is sent goes in parts where it is long. It knows nothing of
 * what the frames mean.
 */
import { heartbeatTimeoutMs, longestPart, type Part } from "@gatehouse/agent-protocol/link/frames";
import { framesOf, PartsReader } from "@gatehouse/agent-protocol/link/message-parts";
import { Ajv } from "ajv";
import formats from "ajv-formats";
import { WebSocket } from "ws";
import type { Log } from "../log.ts";
import { isReadableOnTheWay, linkUrl } from "./control-plane-url.ts";
import { connectionFault } from "./link-messages.ts";

/** Bytes of one frame: a part and what is around it, and no character has more than three. */
const longestFrameBytes = 3 * longestPart + 1024;
/** So long the other side has to answer that the connection ends, in milliseconds. */
const closingMs = 1_000;
const ajv = new Ajv({ strict: false, ownProperties: true });
formats.default(ajv, ["uuid"]);

export interface FrameSocketOptions<Message> {
  /** `https://…` of the control plane; of `http://` beyond this machine the log warns. */
  readonly url: string;
  readonly path: string;
  readonly subprotocol: string;
  /** The schema of each frame that may arrive, by its type; one of them is `part`. */
  readonly frames: Readonly<Record<string, object>>;
  /** Read for each connection, so that a token may be replaced without a restart. */
  readonly token: () => Promise<string>;
  /** What a person can do where the token is not taken. */
  readonly tokenRemedy: string;
  readonly log: Log;
  readonly connected: () => void;
  readonly heard: (message: Message) => void;
  /** What arrived is no frame: the connection is of no more use. */
  readonly violated: () => void;
  /** The connection is lost, or never came about. Not called for one that was left. */
  readonly cut: () => void;
}

export class FrameSocket<Message extends { readonly type: string }> {
  readonly #options: FrameSocketOptions<Message>;
  readonly #checks: ReadonlyMap<string, (value: unknown) => boolean>;
  #socket: WebSocket | undefined;
  #parts = new PartsReader();
  #isStopped = false;

  constructor(options: FrameSocketOptions<Message>) {
    this.#options = options;
    if (isReadableOnTheWay(options.url)) {
      options.log("The token can be read on the way to the control plane: call it with https:// instead of http://.");
    }
    this.#checks = new Map(Object.entries(options.frames).map(([type, schema]) => [type, ajv.compile(schema)]));
  }

  /** Which connection this is, for whoever wants to know whether it still is the same. */
  get connection(): object | undefined {
    return this.#socket;
  }

  async connect(): Promise<void> {
    const { url, path, subprotocol, token, tokenRemedy, log, connected, cut } = this.#options;
    let presented: string;
    try {
      presented = (await token()).trim();
    } catch (error) {
      log(`The token cannot be read: ${String(error)}`);
      cut();
      return;
    }
    if (this.#isStopped) return;
    if (!/^[\u0021-\u007e]+$/.test(presented)) {
      log("The link failed: what is kept as the token holds no token.");
      cut();
      return;
    }
    let socket: WebSocket;
    try {
      socket = new WebSocket(linkUrl(url, path), subprotocol, {
        headers: { authorization: `Bearer ${presented}` },
        perMessageDeflate: false,
        maxPayload: longestFrameBytes,
        handshakeTimeout: heartbeatTimeoutMs,
      });
    } catch (error) {
      log(`The link failed: ${error instanceof Error ? error.message : String(error)}.`);
      cut();
      return;
    }
    this.#socket = socket;
    this.#parts = new PartsReader();
    const isPresent = () => this.#socket === socket;
    socket.on("open", () => {
      if (isPresent()) connected();
    });
    socket.on("message", (content, isBinary) => {
      if (isPresent()) this.#read(isBinary ? "" : content.toString());
    });
    let isTold = false;
    socket.on("unexpected-response", (_, { statusCode }) => {
      isTold = true;
      const why =
        statusCode === 401
          ? `it does not take the token. ${tokenRemedy}`
          : `it answers with status ${statusCode}.${isGatehouses(statusCode) ? "" : " Is it Gatehouse that answers there?"}`;
      log(`The link failed: ${url} is there, and ${why}`);
      socket.terminate();
    });
    socket.on("error", (error) => {
      if (isPresent() && !isTold) log(`The link failed: ${connectionFault(error)}`);
    });
    socket.on("close", () => {
      if (!isPresent()) return;
      this.#socket = undefined;
      cut();
    });
  }

  say(message: object): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    for (const frame of framesOf(message)) this.#socket.send(frame);
  }

  /** Ends the connection at once. */
  leave(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.terminate();
  }

  /** Ends the connection in good order, and lets no other come. */
  stop(): void {
    this.#isStopped = true;
    const socket = this.#socket;
    if (socket === undefined) return;
    socket.close(1001);
    // Where nobody answers any more, the process would wait for it.
    setTimeout(() => socket.terminate(), closingMs).unref();
  }

  #read(text: string): void {
    const frame = this.#frameOf(text);
    if (frame === undefined) {
      this.#options.log("The control plane sent something that is no frame.");
      this.#options.violated();
      return;
    }
    if (!isPart(frame)) {
      this.#options.heard(frame);
      return;
    }
    const whole = this.#parts.read(frame);
    if (whole === "protocol") this.#options.violated();
    else if (whole !== undefined) this.#read(whole.text);
  }

  /** @returns undefined for what does not have the form of a frame */
  #frameOf(text: string): Message | Part | undefined {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return undefined;
    }
    const type = value !== null && typeof value === "object" && "type" in value ? value.type : undefined;
    const check = typeof type === "string" ? this.#checks.get(type) : undefined;
    return check?.(value) === true ? (value as Message | Part) : undefined; // as was just checked
  }
}

/** Too many come at once, or the database is away; all else is answered by something in between. */
function isGatehouses(statusCode: number | undefined): boolean {
  return statusCode === 429 || statusCode === 503;
}

function isPart(frame: { readonly type: string }): frame is Part {
  return frame.type === "part";
}
