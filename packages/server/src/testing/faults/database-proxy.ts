/** A proxy between a server and its PostgreSQL that can cut connections or hang. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Server, type Socket } from "node:net";
import pg from "pg";
import type { Connection } from "../../platform/db/database.ts";

export class DatabaseProxy {
  readonly #target: NetConnectOpts;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Sockets whose peers closed while the proxy hangs. */
  readonly #abandoned = new Set<Socket>();
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

  /** Accepts connections and data, but forwards nothing, not even the end of a connection. */
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
    for (const socket of this.#abandoned) socket.destroy();
    this.#abandoned.clear();
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
      const end = () => {
        if (this.#hanging) this.#abandoned.add(to);
        else to.destroy();
      };
      from.on("error", end);
      from.on("close", () => {
        this.#sockets.delete(from);
        end();
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
