import { heartbeatTimeoutMs } from "@gatehouse/agent-protocol/link/frames";
import { type HelloFrame, type OpenChallenge, stepGreeting } from "@gatehouse/agent-protocol/link/greeting";
import type { KeyClaim, KeyProof } from "@gatehouse/agent-protocol/link/key-proof";
import { AppError } from "../../platform/app-error.ts";
import type { Clock } from "../../platform/clock.ts";
import { Semaphore } from "../../platform/concurrency/semaphore.ts";
import { type Steps, TenantTurns } from "../../platform/concurrency/tenant-turns.ts";
import type { LinkReceiver } from "../../platform/link-transport.ts";
import type { Log } from "../../platform/log.ts";
import type { AgentConnection, PresentedAgent } from "./agent-connection.ts";
import { PendingConnections, type PendingLimits } from "./pending-connections.ts";

/** A connection that is not admitted within this time is ended, in milliseconds. */
const admissionTimeoutMs = 10_000;
/** The minimum time between two warnings about connections without a hello, in milliseconds. */
const warningIntervalMs = 60_000;
/** How long a frame can be unread while other agents of the tenant wait to send theirs, in milliseconds. */
const unreadTimeoutMs = 10_000;

export interface ConnectionLimits extends PendingLimits {
  readonly connections: number;
  /** The most connections of one tenant. */
  readonly connectionsPerTenant: number;
  /** The most tokens that are looked up at the same time. */
  readonly lookUps: number;
  /** The most tokens that wait for a lookup. Agents beyond it are sent away. */
  readonly waitingLookUps: number;
}

/** The limits of each kind of agent. */
const defaultLimits: ConnectionLimits = {
  connections: 20_000,
  connectionsPerTenant: 15_000,
  lookUps: 4,
  waitingLookUps: 10_000,
  pendingPerToken: 4,
  pendingPerAddress: 64,
};

export type AgentMessage = { readonly type: string };
export type Hello<Message extends AgentMessage> = Extract<Message, { readonly type: "hello" }>;
export type LaterMessage<Message extends AgentMessage> = Exclude<Message, { readonly type: "hello" | "proof" }>;

/** Serves the connections that were admitted. */
export interface ConnectionHost<Message extends AgentMessage, Connection extends AgentConnection<Message, never>> {
  /** The number of connections that have joined. */
  readonly joined: () => number;
  /** The number of a tenant's connections that have joined. */
  readonly joinedOf: (tenantId: string) => number;
  /** @throws if the connection cannot be served; then it is ended */
  readonly join: (connection: Connection, hello: Hello<Message>, claim: KeyClaim) => Promise<void>;
  /** Returns a challenge to prove the agent's key. */
  readonly newChallenge: (connection: Connection) => OpenChallenge;
  readonly received: (connection: Connection, message: LaterMessage<Message>) => Steps | undefined;
  /** The connection is closed. It may never have joined. */
  readonly left: (connection: Connection) => void;
  readonly logFields: (connection: Connection) => object;
}

export interface ConnectionGateOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Partial<ConnectionLimits> | undefined;
}

/** Admits connections of one kind of agent: how many there are, when they have to say hello, and what ends one. */
export class ConnectionGate<Message extends AgentMessage, Connection extends AgentConnection<Message, never>> {
  readonly #options: ConnectionGateOptions;
  readonly #host: ConnectionHost<Message, Connection>;
  readonly #limits: ConnectionLimits;
  /** Open connections whose agents have not been admitted. */
  readonly #pending: PendingConnections<Connection>;
  readonly #lookUps: Semaphore;
  /** The frames that agents sent. A long heartbeat takes milliseconds, and many can arrive at once. */
  readonly #received: TenantTurns;
  #warnedAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: ConnectionGateOptions, host: ConnectionHost<Message, Connection>) {
    this.#options = options;
    this.#host = host;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#pending = new PendingConnections(this.#limits);
    this.#lookUps = new Semaphore(this.#limits.lookUps);
    this.#received = new TenantTurns((error) => options.log.error({ err: error }, "failed to handle an agent's frame"));
  }

  /** The number of open connections. */
  get size(): number {
    return this.#pending.size + this.#host.joined();
  }

  /**
   * Looks up a token: a few at a time, in the order in which they came. Thousands of agents that reconnect at once
   * thus leave database connections to requests.
   *
   * @throws AppError too_many_links; the error of `lookUp`
   */
  async admit<Agent extends Pick<PresentedAgent, "tenantId">>(lookUp: () => Promise<Agent>): Promise<Agent> {
    if (this.#isFull) throw this.#overloaded();
    if (!this.#lookUps.isFree && this.#lookUps.waiting >= this.#limits.waitingLookUps) throw this.#overloaded();
    const permit = this.#lookUps.acquire();
    if (permit !== undefined) await permit;
    try {
      // Other connections may have taken the last slots meanwhile.
      if (this.#isFull) throw this.#overloaded();
      const agent = await lookUp();
      if (this.#isShareUsed(agent)) throw this.#overloaded();
      return agent;
    } finally {
      this.#lookUps.release();
    }
  }

  open(connection: Connection): LinkReceiver {
    if (this.#isClosed) connection.refuse("shutting_down", this.jitterMs());
    else if (this.#isShareUsed(connection.agent)) connection.refuse("overloaded", this.jitterMs());
    else this.#addPending(connection);
    return {
      get isPending() {
        return connection.isPending;
      },
      received: (text) => this.#receive(connection, text),
      violated: () => this.#end(connection),
      closed: () => {
        // The frames before the end count.
        if (connection.hasWaiting) this.#perform(connection, this.#closing(connection));
        else this.#closed(connection);
      },
    };
  }

  /** Ends connections whose admission is overdue. */
  tick(): void {
    const now = this.#now();
    for (const connection of [...this.#pending]) {
      if (now - connection.openedAt > admissionTimeoutMs) this.#end(connection);
    }
  }

  /** Drops connections that missed their heartbeats: a network may lose a connection without notice. */
  dropSilent(connections: Iterable<Connection>): void {
    this.#dropAfterTurn(
      connections,
      ({ heardAt, hasWaiting }) => !hasWaiting && this.#now() - heardAt > heartbeatTimeoutMs,
    );
  }

  /** Drops connections whose agents have not read a frame for a long time, while others of the tenant wait. */
  dropUnread(connections: Iterable<Connection>, unread: Semaphore): void {
    if (unread.waiting === 0) return;
    this.#dropAfterTurn(connections, (connection) => connection.hasUnread(this.#now(), unreadTimeoutMs));
  }

  /**
   * Drops connections after the other pending events. If the replica itself stalled, these events include what agents
   * sent and read in the meantime.
   */
  #dropAfterTurn(connections: Iterable<Connection>, isToDrop: (connection: Connection) => boolean): void {
    const suspects = [...connections].filter(isToDrop);
    if (suspects.length === 0) return;
    setImmediate(() => {
      for (const connection of suspects) if (!connection.isClosed && isToDrop(connection)) this.#closed(connection);
    });
  }

  /** Admits no further connection, and ends those whose agents have not been admitted. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#pending) connection.end("shutting_down", this.jitterMs());
    this.#pending.clear();
  }

  /**
   * A random time after which to connect again, in milliseconds. The more agents are connected, the wider its range.
   */
  jitterMs(): number {
    const spreadMs = Math.min(30_000, 1_000 + this.size * 4);
    return Math.round(500 + Math.random() * spreadMs);
  }

  #receive(connection: Connection, text: string): void {
    if (connection.isClosed) return;
    if (connection.isFlooding(this.#now(), text.length)) {
      this.#end(connection);
      return;
    }
    this.#perform(connection, this.#handling(connection, text));
  }

  /** Performs work after what was received before. The connection reads no more until the work is over. */
  #perform(connection: Connection, work: Steps): void {
    let waits = false;
    function* performing(): Steps {
      try {
        yield* work;
      } finally {
        if (waits) connection.waited();
      }
    }
    if (this.#received.perform(connection.agent.tenantId, performing())) return;
    waits = true;
    connection.wait();
  }

  *#handling(connection: Connection, text: string): Steps {
    if (connection.isClosed) return;
    const now = this.#now();
    const read = connection.reader.read(text);
    if (read.kind === "part") return;
    if (read.kind === "fault") {
      this.#options.log.warn({ ...this.#host.logFields(connection), fault: read.fault }, "agent violated the protocol");
      this.#end(connection);
      return;
    }
    connection.heardAt = now;
    const { message } = read;
    const { greeting, output } = stepGreeting<HelloFrame>(connection.greeting, greetingFrame(message), () =>
      this.#host.newChallenge(connection),
    );
    connection.greeting = greeting;
    switch (output.do) {
      case "send":
        connection.send(output.message);
        break;
      case "admit":
        this.#join(connection, output.hello as unknown as Hello<Message>, output.claim); // the hello that was read
        break;
      case "forward":
        yield* this.#host.received(connection, message as unknown as LaterMessage<Message>) ?? []; // neither hello nor proof
        break;
      case "close":
        this.#end(connection);
    }
  }

  #join(connection: Connection, hello: Hello<Message>, claim: KeyClaim): void {
    connection.claim = claim;
    this.#pending.delete(connection);
    this.#host.join(connection, hello, claim).catch((error: unknown) => {
      this.#options.log.warn({ ...this.#host.logFields(connection), err: error }, "failed to serve an agent");
      connection.end("overloaded", this.jitterMs());
      this.#host.left(connection);
    });
  }

  #end(connection: Connection): void {
    connection.end("protocol", this.jitterMs());
    this.#closed(connection);
  }

  // biome-ignore lint/correctness/useYield: the end is one step
  *#closing(connection: Connection): Steps {
    this.#closed(connection);
  }

  #closed(connection: Connection): void {
    this.#pending.delete(connection);
    connection.drop();
    this.#host.left(connection);
  }

  /** Refused connections are not counted, and end at once. Otherwise they would keep others away. */
  #addPending(connection: Connection): void {
    for (;;) {
      const ended = this.#pending.tooMuchFor(connection);
      if (ended === undefined) break;
      this.#pending.delete(ended);
      this.#warn(ended);
      ended.refuse("overloaded", this.jitterMs());
      if (ended === connection) return;
    }
    this.#pending.add(connection);
  }

  #warn(connection: Connection): void {
    const now = this.#now();
    if (now - this.#warnedAt < warningIntervalMs) return;
    this.#warnedAt = now;
    this.#options.log.warn(this.#host.logFields(connection), "closing agent links without a hello; too many are open");
  }

  /** Whether the tenant of an agent has reached its limit of connections. */
  #isShareUsed({ tenantId }: Pick<PresentedAgent, "tenantId">): boolean {
    return this.#pending.ofTenant(tenantId) + this.#host.joinedOf(tenantId) >= this.#limits.connectionsPerTenant;
  }

  get #isFull(): boolean {
    return this.#isClosed || this.size >= this.#limits.connections;
  }

  #overloaded(): AppError {
    return new AppError("too_many_links", { retryAfterSeconds: Math.ceil(this.jitterMs() / 1_000) });
  }

  /** The monotonic time: limits of links must not depend on corrections of the wall clock. */
  #now(): number {
    return this.#options.clock.elapsedMs();
  }
}

/** @param message a frame that matches its schema */
function greetingFrame(message: AgentMessage): HelloFrame | KeyProof | { readonly type: "later" } {
  if (message.type === "hello") return message as HelloFrame; // as its schema says
  return message.type === "proof" ? (message as KeyProof) : { type: "later" }; // as its schema says
}
