/** One open connection of a gateway: its transport, its limits, and what it said so far. */
import { randomUUID } from "node:crypto";
import type { Goodbye, ServerMessage } from "@gatehouse/contract/gateway-link/frames";
import { framesOf } from "@gatehouse/contract/gateway-link/message-parts";
import { FrameReader } from "./link-frames.ts";
import type { LinkSession } from "./link-session.ts";
import type { PresentedGateway } from "./presented-gateway.ts";

/** What carries frames: a WebSocket, or a test. */
export interface LinkTransport {
  /** @param sent called when the text has left, or cannot any more */
  send(text: string, sent: () => void): void;
  /** Bytes that have not left yet. */
  readonly bufferedBytes: number;
  close(code: number, reason: string): void;
  /** Ends it without waiting for the other side. */
  terminate(): void;
}

/** More frames in a go, and in the long run per second, than any agent has reason to send. */
const mostFramesAtOnce = 200;
const framesPerSecond = 20;
/** What may wait to leave: more is of somebody who does not read. Bytes. */
const mostBufferedBytes = 8 * 1024 * 1024;

/** Codes of RFC 6455, section 7.4.1, and of its private range. */
const closeCodes: Readonly<Record<Goodbye["reason"], number>> = {
  token_revoked: 4401,
  gateway_gone: 4404,
  replaced: 4409,
  overloaded: 1013,
  shutting_down: 1001,
  protocol: 1008,
};

export class LinkConnection {
  readonly id = randomUUID();
  readonly gateway: PresentedGateway;
  readonly openedAt: number;
  readonly reader = new FrameReader();
  readonly #transport: LinkTransport;
  #queue: string[] = [];
  #isSending = false;
  #frames = mostFramesAtOnce;
  #framesAt: number;
  #isClosed = false;
  /** Set once it said hello and was taken in. */
  session: LinkSession | undefined;
  hasSaidHello = false;
  /** Milliseconds since 1970. */
  heardAt: number;
  /** Of what its agent enforced when it said hello. */
  agentGeneration = 0;
  wantedRoot: string | undefined;
  wantedSince: number | undefined;

  constructor(gateway: PresentedGateway, transport: LinkTransport, now: number) {
    this.gateway = gateway;
    this.#transport = transport;
    this.openedAt = now;
    this.heardAt = now;
    this.#framesAt = now;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Counts a frame. @returns whether there were too many */
  isFlooding(now: number): boolean {
    const earned = (Math.max(0, now - this.#framesAt) * framesPerSecond) / 1_000;
    this.#frames = Math.min(mostFramesAtOnce, this.#frames + earned) - 1;
    this.#framesAt = now;
    return this.#frames < 0;
  }

  /** Sends a message. A long one goes in parts, the next when the one before has left, so that short ones come between. */
  send(message: ServerMessage): void {
    if (this.#isClosed) return;
    const [first = "", ...rest] = framesOf(message);
    if (rest.length === 0 && !this.#isSending) {
      this.#transport.send(first, () => undefined);
      return;
    }
    this.#queue.push(first, ...rest);
    this.#sendNext();
  }

  /** Sends what need not arrive, ahead of what waits; nothing to somebody who does not read. */
  sendIfRead(message: ServerMessage): void {
    if (this.#isClosed || this.#transport.bufferedBytes > mostBufferedBytes) return;
    this.#transport.send(JSON.stringify(message), () => undefined);
  }

  /** Says goodbye and closes. */
  end(reason: Goodbye["reason"], retryAfterMs?: number): void {
    if (this.#isClosed) return;
    const goodbye: Goodbye = { type: "goodbye", reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    this.#isClosed = true;
    this.#queue = [];
    if (this.#transport.bufferedBytes > mostBufferedBytes) {
      this.#transport.terminate();
      return;
    }
    this.#transport.send(JSON.stringify(goodbye), () => undefined);
    this.#transport.close(closeCodes[reason], reason);
  }

  /** It went, or is given up: nobody is there to say goodbye to. */
  drop(): void {
    this.#isClosed = true;
    this.#queue = [];
    this.#transport.terminate();
  }

  #sendNext(): void {
    if (this.#isSending || this.#isClosed) return;
    const text = this.#queue.shift();
    if (text === undefined) return;
    this.#isSending = true;
    this.#transport.send(text, () => {
      this.#isSending = false;
      this.#sendNext();
    });
  }
}
