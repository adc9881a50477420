/**
 * A WebSocket that carries frames. It validates and reassembles the messages that arrive, and splits long messages into
 * parts. It does not interpret them.
 */
import { heartbeatTimeoutMs, longestPart, type Part } from "@gatehouse/agent-protocol/link/frames";
import { framesOf, PartsReader } from "@gatehouse/agent-protocol/link/message-parts";
import { Ajv } from "ajv";
import formats from "ajv-formats";
import { WebSocket } from "ws";
import type { Log } from "../log.ts";
import { isUnencrypted, linkUrl } from "./control-plane-url.ts";
import { connectionFault } from "./link-messages.ts";

/** The longest frame in bytes: a part with its JSON around it. A UTF-16 code unit takes three bytes at most. */
const longestFrameBytes = 3 * longestPart + 1024;
/** How long to wait for the server to confirm that the connection closes. */
const closingMs = 1_000;
const ajv = new Ajv({ strict: false, ownProperties: true });
formats.default(ajv, ["uuid"]);

export interface FrameSocketOptions<Message> {
  /** `https://…` of the control plane. The log warns about `http://` beyond this machine. */
  readonly url: string;
  readonly path: string;
  /** The subprotocols that the agent supports, the preferred one first. */
  readonly subprotocols: readonly string[];
  /** The schemas of the server's frames, by type. One of them is `part`. */
  readonly frames: Readonly<Record<string, object>>;
  /** Read for each connection, so that a token can be replaced without a restart. */
  readonly token: () => Promise<string>;
  /** The remedy for a person if the server rejects the token. */
  readonly tokenRemedy: string;
  readonly log: Log;
  readonly connected: () => void;
  readonly heard: (message: Message) => void;
  /** The server does not accept the token. */
  readonly rejected: () => void;
  /** The server sent something that is not a frame. The connection cannot be used any more. */
  readonly violated: () => void;
  /** The connection was lost, or could not be established. Not called after `leave`. */
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
    if (isUnencrypted(options.url)) {
      options.log("token is sent unencrypted; use https:// instead of http://", { url: options.url });
    }
    this.#checks = new Map(Object.entries(options.frames).map(([type, schema]) => [type, ajv.compile(schema)]));
  }

  /** The identity of the current connection. It changes with each reconnection. */
  get connection(): object | undefined {
    return this.#socket;
  }

  /** The subprotocol that the server chose; undefined before the connection. */
  get subprotocol(): string | undefined {
    return this.#socket?.protocol;
  }

  async connect(): Promise<void> {
    const { url, path, subprotocols, token, tokenRemedy, log, connected, rejected, cut } = this.#options;
    let presented: string;
    try {
      presented = (await token()).trim();
    } catch (err) {
      log("failed to read the token; will retry", { err });
      cut();
      return;
    }
    if (this.#isStopped) return;
    if (!/^[\u0021-\u007e]+$/.test(presented)) {
      log("token is empty or has characters that a token cannot have; will retry");
      cut();
      return;
    }
    let socket: WebSocket;
    try {
      socket = new WebSocket(linkUrl(url, path), [...subprotocols], {
        headers: { authorization: `Bearer ${presented}` },
        perMessageDeflate: false,
        maxPayload: longestFrameBytes,
        handshakeTimeout: heartbeatTimeoutMs,
      });
    } catch (err) {
      log("failed to connect to the control plane", { url, err });
      cut();
      return;
    }
    this.#socket = socket;
    this.#parts = new PartsReader();
    const isCurrent = () => this.#socket === socket;
    socket.on("open", () => {
      if (isCurrent()) connected();
    });
    socket.on("message", (content, isBinary) => {
      if (isCurrent()) this.#read(isBinary ? "" : content.toString());
    });
    let isLogged = false;
    socket.on("unexpected-response", (_, { statusCode }) => {
      isLogged = true;
      if (statusCode === 401) {
        log("control plane rejected the token", { url, remedy: tokenRemedy });
        rejected();
      } else log("control plane refused the link", { url, statusCode, remedy: refusalRemedy(statusCode) });
      socket.terminate();
    });
    socket.on("error", (error) => {
      if (isCurrent() && !isLogged) {
        log("failed to connect to the control plane", { url, err: connectionFault(error) });
      }
    });
    socket.on("close", () => {
      if (!isCurrent()) return;
      this.#socket = undefined;
      cut();
    });
  }

  say(message: object): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    for (const frame of framesOf(message)) this.#socket.send(frame);
  }

  /** Terminates the connection immediately. */
  leave(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.terminate();
  }

  /** Closes the connection and prevents new ones. */
  stop(): void {
    this.#isStopped = true;
    const socket = this.#socket;
    if (socket === undefined) return;
    socket.close(1001);
    // Without this, an unresponsive server would keep the process alive.
    setTimeout(() => socket.terminate(), closingMs).unref();
  }

  #read(text: string): void {
    const frame = this.#frameOf(text);
    if (frame === undefined) {
      this.#options.log("control plane sent an invalid frame; reconnecting");
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

  /** @returns undefined if the text is not a valid frame */
  #frameOf(text: string): Message | Part | undefined {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return undefined;
    }
    const type = value !== null && typeof value === "object" && "type" in value ? value.type : undefined;
    const check = typeof type === "string" ? this.#checks.get(type) : undefined;
    return check?.(value) === true ? (value as Message | Part) : undefined; // the check has just passed
  }
}

/**
 * Gatehouse answers 429 and 503 under load or without its database. Any other status comes from something in between.
 */
function refusalRemedy(statusCode: number | undefined): string | undefined {
  return statusCode === 429 || statusCode === 503 ? undefined : "Check that Gatehouse serves at this URL.";
}

function isPart(frame: { readonly type: string }): frame is Part {
  return frame.type === "part";
}
