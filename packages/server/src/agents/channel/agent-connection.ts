import { randomUUID } from "node:crypto";
import type { Greeting, HelloFrame, LinkVersion } from "@gatehouse/agent-protocol/link/greeting";
import type { KeyClaim } from "@gatehouse/agent-protocol/link/key-proof";
import { framesOf } from "@gatehouse/agent-protocol/link/message-parts";
import type { Semaphore } from "../../platform/concurrency/semaphore.ts";
import type { LinkTransport } from "../../platform/link-transport.ts";
import { type FrameChecks, FrameReader } from "./frame-reader.ts";

/** No agent has a reason to send more frames than this at once, or per second in the long run. */
const frameBurst = 200;
const framesPerSecond = 20;
/**
 * The same in characters. The longest message fits into the burst, in parts. A thousand peers in each heartbeat are
 * about 16 Ki per second.
 */
const characterBurst = 2 * 1024 * 1024;
const charactersPerSecond = 64 * 1024;
/** The most unsent data of an agent that does not read, in bytes. */
const maxBufferedBytes = 8 * 1024 * 1024;
/** How long a closing connection waits for the agent to read a frame, in milliseconds. */
const unreadMs = 1_000;
/**
 * How long a replaced agent stays away, in milliseconds. Otherwise two agents with one token would replace each other
 * in a loop.
 */
const replacedRetryMs = 30_000;

/** The agent that a token belongs to. */
export interface PresentedAgent {
  readonly tenantId: string;
  readonly agentId: string;
  /** SHA-256 of the token, in hexadecimal. */
  readonly tokenHash: string;
}

/** The configurations of one connection. */
export interface AgentSession {
  /** Whether the agent has applied the configuration that it should have. */
  readonly isSettled: boolean;
  /** Handles retries and timeouts. Called about once a second. */
  tick(): void;
}

/** The reasons to end a connection that both kinds of agents share. */
export type SharedReason = "replaced" | "overloaded" | "shutting_down" | "protocol";

/** Close codes of RFC 6455, section 7.4.1, and of its private range. */
export const sharedCloseCodes: Readonly<Record<SharedReason, number>> = {
  replaced: 4409,
  overloaded: 1013,
  shutting_down: 1001,
  protocol: 1008,
};

/** The properties that all connections of one kind of agent share. */
export interface ConnectionKind<Reason extends string> {
  readonly checks: FrameChecks;
  readonly closeCodes: Readonly<Record<Reason | SharedReason, number>>;
}

interface ConnectionParts<Reason extends string, Agent> {
  readonly kind: ConnectionKind<Reason>;
  readonly agent: Agent;
  readonly transport: LinkTransport;
  /** The address that the agent connected from. */
  readonly sourceAddress: string;
  readonly version: LinkVersion;
  /** The time by `clock.elapsedMs()`, as all times of a connection. */
  readonly now: number;
}

/**
 * One open connection of an agent: its transport, its limits, and its session once the agent has said hello.
 * `Message` is a message of the agent, `Reason` a reason of its kind to end a connection.
 */
export class AgentConnection<
  Message extends { readonly type: string },
  Reason extends string,
  Agent extends PresentedAgent = PresentedAgent,
  Session extends AgentSession = AgentSession,
> {
  readonly id = randomUUID();
  readonly agent: Agent;
  readonly sourceAddress: string;
  readonly openedAt: number;
  readonly reader: FrameReader<Message>;
  readonly #transport: LinkTransport;
  readonly #closeCodes: ConnectionKind<Reason>["closeCodes"];
  /** Messages whose frames were not all sent. */
  #queue: Iterator<string>[] = [];
  #isSending = false;
  /** The permit of a frame that the agent has not read. */
  #permit: Semaphore | undefined;
  /** When a check first found that frame. */
  #unreadSince: number | undefined;
  /** The frames of the tenant that may be unread. Undefined before the agent is admitted, when messages are short. */
  unread: Semaphore | undefined;
  #frameCredit = frameBurst;
  #characterCredit = characterBurst;
  #creditedAt: number;
  #isClosed = false;
  /** Received frames that are not handled yet. */
  #waiting = 0;
  readonly version: LinkVersion;
  /** The state of the link until the agent is admitted. */
  greeting: Greeting<HelloFrame>;
  /** The key that the admitted agent reported, and what it proved. */
  claim: KeyClaim | undefined;
  /** When the agent was last heard. */
  heardAt: number;
  session: Session | undefined;

  constructor({ kind, agent, transport, sourceAddress, version, now }: ConnectionParts<Reason, Agent>) {
    this.agent = agent;
    this.sourceAddress = sourceAddress;
    this.reader = new FrameReader<Message>(kind.checks);
    this.#closeCodes = kind.closeCodes;
    this.#transport = transport;
    this.version = version;
    this.greeting = { phase: "hello", version };
    this.openedAt = now;
    this.heardAt = now;
    this.#creditedAt = now;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether the agent is not admitted yet. */
  get isPending(): boolean {
    return this.greeting.phase === "hello" || this.greeting.phase === "proof";
  }

  /** Whether received frames wait, or are being handled. */
  get hasWaiting(): boolean {
    return this.#waiting > 0;
  }

  /** A received frame has to wait. No more are read until it is handled. */
  wait(): void {
    this.#waiting += 1;
    if (this.#waiting === 1) this.#transport.pause();
  }

  /** A frame that had to wait was handled. */
  waited(): void {
    this.#waiting -= 1;
    if (this.#waiting === 0) this.#transport.resume();
  }

  /** Counts a frame. @param length in characters @returns whether the agent sends too many, or too much */
  isFlooding(now: number, length: number): boolean {
    const seconds = Math.max(0, now - this.#creditedAt) / 1_000;
    this.#frameCredit = Math.min(frameBurst, this.#frameCredit + seconds * framesPerSecond) - 1;
    this.#characterCredit = Math.min(characterBurst, this.#characterCredit + seconds * charactersPerSecond) - length;
    this.#creditedAt = now;
    return this.#frameCredit < 0 || this.#characterCredit < 0;
  }

  /** Sends a message. A long one is sent in parts, one after the other, so that short messages can go in between. */
  send(message: object): void {
    this.sendFrames(framesOf(message));
  }

  /** Sends the frames of a message. Each frame is requested when the previous one was sent. */
  sendFrames(frames: Iterable<string>): void {
    if (this.#isClosed) return;
    this.#queue.push(frames[Symbol.iterator]());
    if (!this.#isSending) this.#sendNext();
  }

  /** Sends a message that may be lost, ahead of the queue. An agent that does not read does not receive it. */
  sendIfRead(message: object): void {
    if (this.#isClosed || this.#transport.bufferedBytes > maxBufferedBytes) return;
    this.#transport.send(JSON.stringify(message), () => undefined);
  }

  /** Sends a goodbye, and closes the connection. @param retryAfterMs when the agent may connect again */
  end(reason: Reason | SharedReason, retryAfterMs = reason === "replaced" ? replacedRetryMs : undefined): void {
    this.#end(reason, retryAfterMs, () => undefined);
  }

  /** Like `end`, but does not wait until the agent closes the connection too. */
  refuse(reason: SharedReason, retryAfterMs: number): void {
    this.#end(reason, retryAfterMs, () => this.#transport.terminate());
  }

  /** Closes the connection without a goodbye: the agent is gone, or does not answer. */
  drop(): void {
    this.#isClosed = true;
    this.#queue = [];
    this.#transport.terminate();
    this.#release();
  }

  /** @param said called when the goodbye was sent, or can no longer be sent */
  #end(reason: Reason | SharedReason, retryAfterMs: number | undefined, said: () => void): void {
    if (this.#isClosed) return;
    const goodbye = { type: "goodbye", reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    this.#isClosed = true;
    this.#queue = [];
    // An agent that never reads must not delay the frames of others, however often it reconnects.
    this.#release();
    if (this.#transport.bufferedBytes > maxBufferedBytes) {
      this.#transport.terminate();
      return;
    }
    this.#transport.send(JSON.stringify(goodbye), said);
    this.#transport.close(this.#closeCodes[reason], reason);
    if (this.#isSending) this.#terminateIfUnread();
  }

  /** Terminates the connection if its frame stays unread. No permit accounts for the frame's memory any longer. */
  #terminateIfUnread(): void {
    const timer = setTimeout(() => {
      if (this.#isSending) this.#transport.terminate();
    }, unreadMs);
    timer.unref();
  }

  /** Whether the agent has not read a frame for so long. Counted from the first call for that frame. */
  hasUnread(now: number, forMs: number): boolean {
    if (this.#permit === undefined) return false;
    this.#unreadSince ??= now;
    return now - this.#unreadSince > forMs;
  }

  #sendNext(): void {
    this.#isSending = this.#queue.length > 0 && !this.#isClosed;
    if (!this.#isSending) return;
    const { unread } = this;
    const permit = unread?.acquire();
    if (permit === undefined) this.#sendFrame(unread);
    else void permit.then(() => this.#sendFrame(unread));
  }

  #sendFrame(permit: Semaphore | undefined): void {
    this.#permit = permit;
    const sent = () => {
      this.#release();
      this.#sendNext();
    };
    const text = this.#isClosed ? undefined : this.#nextFrame();
    if (text === undefined) sent();
    else this.#transport.send(text, sent);
  }

  #release(): void {
    this.#permit?.release();
    this.#permit = undefined;
    this.#unreadSince = undefined;
  }

  #nextFrame(): string | undefined {
    for (let frames = this.#queue[0]; frames !== undefined; frames = this.#queue[0]) {
      const next = frames.next();
      if (next.done !== true) return next.value;
      this.#queue.shift();
    }
    return undefined;
  }
}
