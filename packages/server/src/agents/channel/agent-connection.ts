import { randomUUID } from "node:crypto";
import type { Greeting, HelloFrame, LinkVersion } from "@gatehouse/agent-protocol/link/greeting";
import type { KeyClaim } from "@gatehouse/agent-protocol/link/key-proof";
import { framesOf } from "@gatehouse/agent-protocol/link/message-parts";
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
  /** Milliseconds since 1970. */
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
  #queue: string[] = [];
  #isSending = false;
  #frameCredit = frameBurst;
  #characterCredit = characterBurst;
  #creditedAt: number;
  #isClosed = false;
  readonly version: LinkVersion;
  /** The state of the link until the agent is admitted. */
  greeting: Greeting<HelloFrame>;
  /** The key that the admitted agent reported, and what it proved. */
  claim: KeyClaim | undefined;
  /** When the agent was last heard, in milliseconds since 1970. */
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

  /** Sends a message whose frames the caller has made. */
  sendFrames(frames: Iterable<string>): void {
    if (this.#isClosed) return;
    const [first = "", ...rest] = frames;
    if (rest.length === 0 && !this.#isSending) {
      this.#transport.send(first, () => undefined);
      return;
    }
    this.#queue.push(first, ...rest);
    this.#sendNext();
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
  }

  /** @param said called when the goodbye was sent, or can no longer be sent */
  #end(reason: Reason | SharedReason, retryAfterMs: number | undefined, said: () => void): void {
    if (this.#isClosed) return;
    const goodbye = { type: "goodbye", reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    this.#isClosed = true;
    this.#queue = [];
    if (this.#transport.bufferedBytes > maxBufferedBytes) {
      this.#transport.terminate();
      return;
    }
    this.#transport.send(JSON.stringify(goodbye), said);
    this.#transport.close(this.#closeCodes[reason], reason);
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
