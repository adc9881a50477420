/** Where connections of one kind come in: how many there may be, who has to say hello until when, and what ends one that misbehaves. */
import { heartbeatTimeoutMs } from "@gatehouse/agent-protocol/link/frames";
import { AppError } from "../../platform/app-error.ts";
import type { Clock } from "../../platform/clock.ts";
import { Semaphore } from "../../platform/concurrency/semaphore.ts";
import type { LinkReceiver } from "../../platform/link-transport.ts";
import type { Log } from "../../platform/log.ts";
import type { LinkConnection } from "./link-connection.ts";

/** Whoever says no hello for this long is let go, in milliseconds. */
const helloTimeoutMs = 10_000;

export interface LinkLimits {
  /** Connections at most. */
  readonly connections: number;
  /** Tokens that are looked up at a time; others wait, and of those that wait too long some are sent away. */
  readonly lookUps: number;
  readonly waitingLookUps: number;
}

/** For each kind of link. */
export const linkLimits: LinkLimits = { connections: 20_000, lookUps: 4, waitingLookUps: 10_000 };

type AnyMessage = { readonly type: string };
type HelloOf<Message extends AnyMessage> = Extract<Message, { readonly type: "hello" }>;
type RestOf<Message extends AnyMessage> = Exclude<Message, { readonly type: "hello" }>;

/** Who serves the connections that came in. */
export interface LinkHost<Message extends AnyMessage, Connection extends LinkConnection<Message, never>> {
  /** How many connections it holds. */
  readonly joined: () => number;
  /** @throws where the connection cannot be served; then it is sent away */
  join(connection: Connection, hello: HelloOf<Message>): Promise<void>;
  said(connection: Connection, message: RestOf<Message>): void;
  /** The connection is gone; also of one that never joined. */
  left(connection: Connection): void;
  /** For the log. */
  describe(connection: Connection): object;
}

export interface ConnectionGateOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Partial<LinkLimits> | undefined;
}

export class ConnectionGate<Message extends AnyMessage, Connection extends LinkConnection<Message, never>> {
  readonly #options: ConnectionGateOptions;
  readonly #host: LinkHost<Message, Connection>;
  readonly #limits: LinkLimits;
  /** Connections that have not said hello. */
  readonly #strangers = new Set<Connection>();
  readonly #lookUps: Semaphore;
  #isClosed = false;

  constructor(options: ConnectionGateOptions, host: LinkHost<Message, Connection>) {
    this.#options = options;
    this.#host = host;
    this.#limits = { ...linkLimits, ...options.limits };
    this.#lookUps = new Semaphore(this.#limits.lookUps);
  }

  /** Open connections. */
  get size(): number {
    return this.#strangers.size + this.#host.joined();
  }

  /**
   * Looks up a token: a few at a time, in the order in which they came. A crowd that comes back leaves connections of the database to requests.
   *
   * @throws AppError too_many_links; whatever `lookUp` throws
   */
  async admit<T>(lookUp: () => Promise<T>): Promise<T> {
    if (this.#isFull) throw this.#overloaded();
    if (!this.#lookUps.isFree && this.#lookUps.waiting >= this.#limits.waitingLookUps) throw this.#overloaded();
    const permit = this.#lookUps.acquire();
    if (permit !== undefined) await permit;
    try {
      // Other connections may have taken the last places meanwhile.
      if (this.#isFull) throw this.#overloaded();
      return await lookUp();
    } finally {
      this.#lookUps.release();
    }
  }

  open(connection: Connection): LinkReceiver {
    this.#strangers.add(connection);
    if (this.#isClosed) connection.end("shutting_down", this.jitterMs());
    return {
      received: (text) => this.#received(connection, text),
      violated: () => this.#end(connection),
      closed: () => this.#closed(connection),
    };
  }

  /** Lets go who has not said hello in time. */
  tick(): void {
    const now = this.#now();
    for (const stranger of this.#strangers) {
      if (now - stranger.openedAt > helloTimeoutMs) this.#end(stranger);
    }
  }

  /** Lets go those of whom nothing was heard: a cut that nobody was told of. */
  dropSilent(connections: Iterable<Connection>): void {
    const now = this.#now();
    for (const connection of [...connections]) {
      if (now - connection.heardAt > heartbeatTimeoutMs) this.#closed(connection);
    }
  }

  /** Nobody comes in any more, and who has not said hello goes. */
  close(): void {
    this.#isClosed = true;
    for (const stranger of this.#strangers) stranger.end("shutting_down", this.jitterMs());
    this.#strangers.clear();
  }

  /** When to come again, in milliseconds from now. The more there are, the longer the time over which they do. */
  jitterMs(): number {
    const spreadMs = Math.min(30_000, 1_000 + this.size * 4);
    return Math.round(500 + Math.random() * spreadMs);
  }

  #received(connection: Connection, text: string): void {
    if (connection.isClosed) return;
    const now = this.#now();
    if (connection.isFlooding(now)) {
      this.#end(connection);
      return;
    }
    const read = connection.reader.read(text);
    if (read.kind === "part") return;
    if (read.kind === "fault") {
      const about = { ...this.#host.describe(connection), fault: read.fault };
      this.#options.log.warn(about, "an agent broke the protocol of its link");
      this.#end(connection);
      return;
    }
    connection.heardAt = now;
    const { message } = read;
    // Hello is the first, and comes once.
    if ((message.type === "hello") === connection.hasSaidHello) this.#end(connection);
    else if (connection.hasSaidHello)
      this.#host.said(connection, message as unknown as RestOf<Message>); // no hello, as just asked
    else this.#join(connection, message as unknown as HelloOf<Message>); // a hello, as just asked
  }

  #join(connection: Connection, hello: HelloOf<Message>): void {
    connection.hasSaidHello = true;
    this.#strangers.delete(connection);
    this.#host.join(connection, hello).catch((error: unknown) => {
      const about = { ...this.#host.describe(connection), err: error };
      this.#options.log.warn(about, "a link could not be taken in");
      connection.end("overloaded", this.jitterMs());
      this.#host.left(connection);
    });
  }

  #end(connection: Connection): void {
    connection.end("protocol", this.jitterMs());
    this.#closed(connection);
  }

  #closed(connection: Connection): void {
    this.#strangers.delete(connection);
    connection.drop();
    this.#host.left(connection);
  }

  get #isFull(): boolean {
    return this.#isClosed || this.size >= this.#limits.connections;
  }

  #overloaded(): AppError {
    return new AppError("too_many_links", { retryAfterSeconds: Math.ceil(this.jitterMs() / 1_000) });
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}
