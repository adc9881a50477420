/** Shares a limited number of connections among clients. */

interface TcpConnection {
  /** Whether a question is being answered. Such connections are ended last. */
  readonly isAnswering: boolean;
  readonly end: () => void;
}

/**
 * The open connections of all clients. A new connection is always accepted. At a limit, the oldest connection of the
 * client with the most connections ends, so that no client can exhaust the limit.
 */
export class TcpConnections {
  readonly #most: number;
  readonly #mostPerClient: number;
  /** The connections of each client, the oldest first. */
  readonly #ofClients = new Map<string, Set<TcpConnection>>();
  #count = 0;

  constructor(most: number, mostPerClient = most) {
    this.#most = most;
    this.#mostPerClient = mostPerClient;
  }

  /** @returns a function that removes the connection. Must be called when the connection has closed. Idempotent. */
  add(client: string, connection: TcpConnection): () => void {
    const own = this.#ofClients.get(client) ?? new Set();
    if (own.size >= this.#mostPerClient) this.#endOldest(client, own);
    else if (this.#count >= this.#most) this.#endOldest(...this.#largest(client, own));
    own.add(connection);
    this.#ofClients.set(client, own);
    this.#count += 1;
    return () => this.#remove(client, connection);
  }

  /** Returns the client with the most connections. In a tie, prefers the client that opens another connection. */
  #largest(client: string, own: Set<TcpConnection>): [client: string, connections: Set<TcpConnection>] {
    let largest: [string, Set<TcpConnection>] = [client, own];
    for (const each of this.#ofClients) if (each[1].size > largest[1].size) largest = each;
    return largest;
  }

  #endOldest(client: string, connections: ReadonlySet<TcpConnection>): void {
    const [first] = connections;
    const oldest = [...connections].find(({ isAnswering }) => !isAnswering) ?? first;
    if (oldest === undefined) return;
    this.#remove(client, oldest);
    oldest.end();
  }

  #remove(client: string, connection: TcpConnection): void {
    const own = this.#ofClients.get(client);
    if (own?.delete(connection) !== true) return;
    this.#count -= 1;
    if (own.size === 0) this.#ofClients.delete(client);
  }
}
