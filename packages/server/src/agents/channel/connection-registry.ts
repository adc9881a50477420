import type { AgentConnection, SharedReason } from "./agent-connection.ts";

/** The connected agents of a tenant: one connection each, the latest one. `Reason` is a reason to end a connection. */
export class ConnectionRegistry<
  Reason extends string,
  Connection extends AgentConnection<{ readonly type: string }, Reason>,
> {
  readonly #connections = new Map<string, Connection>();

  get size(): number {
    return this.#connections.size;
  }

  /** The number of agents that have not applied the configuration that they should have. */
  get unsettled(): number {
    let count = 0;
    for (const { session } of this) if (session?.isSettled !== true) count += 1;
    return count;
  }

  [Symbol.iterator](): IterableIterator<Connection> {
    return this.#connections.values();
  }

  get agentIds(): IterableIterator<string> {
    return this.#connections.keys();
  }

  of(agentId: string): Connection | undefined {
    return this.#connections.get(agentId);
  }

  /** Adds a connection, and ends the previous one of its agent. */
  add(connection: Connection): void {
    const { agentId } = connection.agent;
    this.#connections.get(agentId)?.end("replaced");
    this.#connections.set(agentId, connection);
  }

  /** @returns false if the agent has a later connection, or none */
  delete(connection: Connection): boolean {
    const { agentId } = connection.agent;
    return this.#connections.get(agentId) === connection && this.#connections.delete(agentId);
  }

  tick(): void {
    // A session may end its connection, which deletes it from here.
    for (const { session } of [...this]) session?.tick();
  }

  /** Ends and deletes every connection. @param retryAfterMs when an agent may connect again, in milliseconds */
  endAll(reason: Reason | SharedReason, retryAfterMs?: () => number): void {
    for (const connection of this) connection.end(reason, retryAfterMs?.());
    this.#connections.clear();
  }
}
