/** Stands between a server and its PostgreSQL, and can be cut, or hang, as networks and machines do. */
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

  /** @returns the proxy, and how to reach the database through it */
  static async start(
    database: Connection,
  ): Promise<{ readonly proxy: DatabaseProxy; readonly connection: Connection }> {
    const { host, port } = new pg.Client(database);
    const proxy = new DatabaseProxy(host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
    await proxy.#listen();
    return { proxy, connection: { ...throughPort(database, proxy.#port) } };
  }

  /** Ends every connection and takes no more: the machine is gone. */
  async cut(): Promise<void> {
    this.#endConnections();
    this.#server.close();
    if (this.#server.listening) await once(this.#server, "close");
  }

  /** Takes connections, and what comes on them, but passes nothing on. */
  hang(): void {
    this.#hanging = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Ends the connections that there are; new ones are taken. */
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
