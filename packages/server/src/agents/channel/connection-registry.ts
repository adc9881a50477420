import type { AgentConnection, SharedReason } from "./agent-connection.ts";

/** The most connections of one agent whose tokens and keys are being checked. Only a thief of the token opens more. */
const mostArriving = 16;

/**
 * The connected agents of a tenant. Each has one current connection, the latest one. A connection arrives before it is
 * current: one whose token or key is refused must not replace another. `Reason` is a reason to end a connection.
 */
export class ConnectionRegistry<
  Reason extends string,
  Connection extends AgentConnection<{ readonly type: string }, Reason>,
> {
  readonly #current = new Map<string, Connection>();
  /** Connections whose tokens and keys are being checked, by agent. */
  readonly #arriving = new Map<string, Set<Connection>>();
  #arrivingCount = 0;

  /** The number of connections, including those that arrive. */
  get size(): number {
    return this.#current.size + this.#arrivingCount;
  }

  /** The number of agents that have not applied the configuration that they should have. */
  get unsettled(): number {
    let count = this.#arrivingCount;
    for (const { session } of this) if (session?.isSettled !== true) count += 1;
    return count;
  }

  /** The current connections. */
  [Symbol.iterator](): IterableIterator<Connection> {
    return this.#current.values();
  }

  get arriving(): readonly Connection[] {
    return [...this.#arriving.values()].flatMap((connections) => [...connections]);
  }

  /** The agents with a connection, including one that arrives. */
  get agentIds(): readonly string[] {
    return [...new Set([...this.#current.keys(), ...this.#arriving.keys()])];
  }

  /** The current connection of an agent. */
  of(agentId: string): Connection | undefined {
    return this.#current.get(agentId);
  }

  /** The connections of an agent: the current one, and those that arrive. */
  allOf(agentId: string): readonly Connection[] {
    const current = this.#current.get(agentId);
    return [...(current === undefined ? [] : [current]), ...(this.#arriving.get(agentId) ?? [])];
  }

  isCurrent(connection: Connection): boolean {
    return this.#current.get(connection.agent.agentId) === connection;
  }

  /**
   * Adds a connection whose token and key are to be checked.
   *
   * @param isDoubtful whether the key of a connection will probably be refused
   * @returns the connection to end if the agent has too many: a doubtful one if there is any, otherwise the oldest
   */
  arrive(
    connection: Connection,
    isDoubtful: (connection: Connection) => boolean = () => false,
  ): Connection | undefined {
    const { agentId } = connection.agent;
    const arriving = this.#arriving.get(agentId) ?? new Set();
    this.#arriving.set(agentId, arriving.add(connection));
    this.#arrivingCount += 1;
    if (arriving.size <= mostArriving) return undefined;
    const [oldest] = arriving;
    return [...arriving].find(isDoubtful) ?? oldest;
  }

  /** Makes a checked connection the current one of its agent, and ends the previous one. */
  add(connection: Connection): void {
    const { agentId } = connection.agent;
    this.#deleteArriving(connection);
    this.#current.get(agentId)?.end("replaced");
    this.#current.set(agentId, connection);
  }

  /** @returns false if the connection was neither current nor arriving */
  delete(connection: Connection): boolean {
    if (this.isCurrent(connection)) return this.#current.delete(connection.agent.agentId);
    return this.#deleteArriving(connection);
  }

  tick(): void {
    // A session may end its connection, which deletes it from here.
    for (const { session } of [...this]) session?.tick();
  }

  /** Ends and deletes every connection. @param retryAfterMs when an agent may connect again, in milliseconds */
  endAll(reason: Reason | SharedReason, retryAfterMs?: () => number): void {
    for (const connection of [...this, ...this.arriving]) connection.end(reason, retryAfterMs?.());
    this.#current.clear();
    this.#arriving.clear();
    this.#arrivingCount = 0;
  }

  #deleteArriving(connection: Connection): boolean {
    const { agentId } = connection.agent;
    const arriving = this.#arriving.get(agentId);
    if (arriving?.delete(connection) !== true) return false;
    if (arriving.size === 0) this.#arriving.delete(agentId);
    this.#arrivingCount -= 1;
    return true;
  }
}
