/** One open connection: its transport, its limits, and whether it said hello. */
import { randomUUID } from "node:crypto";
import { framesOf } from "@gatehouse/agent-protocol/link/message-parts";
import type { LinkTransport } from "../../platform/link-transport.ts";
import { type FrameChecks, FrameReader } from "./frame-reader.ts";

/** More frames in a go, and in the long run per second, than any agent has reason to send. */
const mostFramesAtOnce = 200;
const framesPerSecond = 20;
/** What may wait to leave: more is of somebody who does not read. Bytes. */
const mostBufferedBytes = 8 * 1024 * 1024;
/** How long whoever was replaced stays away: two agents with one token would else put each other out without end. Milliseconds. */
const replacedForMs = 30_000;

/** Why the server ends links of any kind; each kind has reasons of its own beside these. */
export type SharedReason = "replaced" | "overloaded" | "shutting_down" | "protocol";

/** Codes of RFC 6455, section 7.4.1, and of its private range. */
export const sharedCloseCodes: Readonly<Record<SharedReason, number>> = {
  replaced: 4409,
  overloaded: 1013,
  shutting_down: 1001,
  protocol: 1008,
};

/** What is the same for all links of a kind. */
export interface LinkKind<Reason extends string> {
  readonly checks: FrameChecks;
  readonly closeCodes: Readonly<Record<Reason | SharedReason, number>>;
}

/** `Message` is what the other end says; `Reason` is a reason to end a link. */
export class LinkConnection<Message extends { readonly type: string }, Reason extends string> {
  readonly id = randomUUID();
  readonly openedAt: number;
  readonly reader: FrameReader<Message>;
  readonly #transport: LinkTransport;
  readonly #closeCodes: LinkKind<Reason>["closeCodes"];
  #queue: string[] = [];
  #isSending = false;
  #frames = mostFramesAtOnce;
  #framesAt: number;
  #isClosed = false;
  hasSaidHello = false;
  /** Milliseconds since 1970. */
  heardAt: number;

  /** @param now milliseconds since 1970 */
  constructor(kind: LinkKind<Reason>, transport: LinkTransport, now: number) {
    this.reader = new FrameReader<Message>(kind.checks);
    this.#closeCodes = kind.closeCodes;
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
  send(message: object): void {
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
  sendIfRead(message: object): void {
    if (this.#isClosed || this.#transport.bufferedBytes > mostBufferedBytes) return;
    this.#transport.send(JSON.stringify(message), () => undefined);
  }

  /** Says goodbye and closes. */
  end(reason: Reason | SharedReason, retryAfterMs = reason === "replaced" ? replacedForMs : undefined): void {
    if (this.#isClosed) return;
    const goodbye = { type: "goodbye", reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    this.#isClosed = true;
    this.#queue = [];
    if (this.#transport.bufferedBytes > mostBufferedBytes) {
      this.#transport.terminate();
      return;
    }
    this.#transport.send(JSON.stringify(goodbye), () => undefined);
    this.#transport.close(this.#closeCodes[reason], reason);
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
