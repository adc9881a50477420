/** A proxy between a server and its PostgreSQL that can cut connections or hang. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Server, type Socket } from "node:net";
import pg from "pg";
import type { Connection } from "../../platform/db/database.ts";

export class DatabaseProxy {
  readonly #target: NetConnectOpts;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #port = 0;
  #hanging = false;

  private constructor(target: NetConnectOpts) {
    this.#target = target;
    this.#server = createServer((client) => this.#forward(client));
  }

  /** Starts a proxy. Returns it with the connection through it. */
  static async start(
    database: Connection,
  ): Promise<{ readonly proxy: DatabaseProxy; readonly connection: Connection }> {
    const { host, port } = new pg.Client(database);
    const proxy = new DatabaseProxy(host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
    await proxy.#listen();
    return { proxy, connection: { ...throughPort(database, proxy.#port) } };
  }

  /** Closes every connection and accepts no more, as if the machine had failed. */
  async cut(): Promise<void> {
    this.#endConnections();
    this.#server.close();
    if (this.#server.listening) await once(this.#server, "close");
  }

  /** Accepts connections and data, but forwards nothing. */
  hang(): void {
    this.#hanging = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Closes the existing connections; new ones are accepted. */
  breakConnections(): void {
    this.#endConnections();
  }

  /** Undoes `cut` and `hang`. */
  async restore(): Promise<void> {
    this.#hanging = false;
    for (const socket of this.#sockets) socket.resume();
    if (!this.#server.listening) await this.#listen();
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.cut();
  }

  async #listen(): Promise<void> {
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port; // of a server that listens on TCP
  }

  #endConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #forward(client: Socket): void {
    const server = connect(this.#target);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      if (this.#hanging) from.pause();
      from.on("data", (chunk) => to.write(chunk));
      from.on("error", () => to.destroy());
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }
}

function throughPort(database: Connection, port: number): Connection {
  if (database.connectionString === undefined) return { ...database, host: "127.0.0.1", port };
  const url = new URL(database.connectionString);
  url.host = `127.0.0.1:${port}`;
  return { connectionString: url.href };
}
