import pg from "pg";
import type { Connection } from "./database.ts";

const retryAfterMs = 1_000;

/** A connection of its own that listens on a channel and tells others; it comes back by itself when it breaks. */
export class NotificationChannel {
  readonly #connection: Connection;
  readonly #channel: string;
  readonly #heard: () => void;
  #client: pg.Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  /** @param channel a plain lower-case identifier */
  constructor(connection: Connection, channel: string, heard: () => void) {
    this.#connection = connection;
    this.#channel = channel;
    this.#heard = heard;
  }

  /** Starts listening; never rejects, since the channel only speeds up what a timer does anyway. */
  async open(): Promise<void> {
    if (this.#closed) return;
    const client = new pg.Client({
      ...this.#connection,
      application_name: "gatehouse notifications",
      connectionTimeoutMillis: 2_000,
      keepAlive: true,
    });
    client.on("error", () => this.#reopen(client));
    client.on("end", () => this.#reopen(client));
    client.on("notification", () => this.#heard());
    try {
      await client.connect();
      await client.query(`LISTEN ${this.#channel}`);
      this.#client = client;
      this.#heard();
    } catch {
      this.#reopen(client);
    }
  }

  /** Tells every listener, itself included. Lost when there is no connection: the timers of the others cover that. */
  notify(): void {
    this.#client?.query(`NOTIFY ${this.#channel}`).catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await this.#client?.end().catch(() => undefined);
  }

  #reopen(broken: pg.Client): void {
    if (this.#client === broken) this.#client = undefined;
    broken.removeAllListeners();
    // A broken connection may report more than once; nobody else listens any more.
    broken.on("error", () => undefined);
    broken.end().catch(() => undefined);
    if (this.#closed || this.#retry !== undefined) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      void this.open();
    }, retryAfterMs);
    this.#retry.unref();
  }
}
