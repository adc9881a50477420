import pg from "pg";
import type { Connection } from "./database.ts";

const retryAfterMs = 1_000;
/** A connection is abandoned if it does not answer within this time, in milliseconds. */
const answerTimeoutMs = 5_000;
/** The shortest time between two notifications, in milliseconds: sending one costs as much as a short command. */
const pauseMs = 10;
/** How long closing waits for the server to end the connection, in milliseconds. */
const closeTimeoutMs = 1_000;

/** A dedicated connection that listens on a channel and notifies other listeners. It reconnects by itself. */
export class NotificationChannel {
  readonly #connection: Connection;
  readonly #channel: string;
  readonly #heard: () => void;
  #client: pg.Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;
  #notifying = false;
  #notifyAgain = false;

  /** @param channel a plain lower-case identifier */
  constructor(connection: Connection, channel: string, heard: () => void) {
    this.#connection = connection;
    this.#channel = channel;
    this.#heard = heard;
  }

  /** Starts listening. Never rejects, because a timer does the same work without the channel, only later. */
  async open(): Promise<void> {
    if (this.#closed) return;
    const client = new pg.Client({
      ...this.#connection,
      application_name: "gatehouse notifications",
      connectionTimeoutMillis: 2_000,
      query_timeout: answerTimeoutMs,
      keepAlive: true,
    });
    this.#client = client;
    client.on("error", () => this.#reopen(client));
    client.on("end", () => this.#reopen(client));
    client.on("notification", () => this.#heard());
    try {
      await client.connect();
      await client.query(`LISTEN ${this.#channel}`);
      this.#heard();
    } catch {
      this.#reopen(client);
    }
  }

  /**
   * Notifies every listener, including this one. Calls during a notification, or soon after, share the next one.
   * Without a connection the notification is lost, and the listeners' timers replace it.
   */
  notify(): void {
    if (this.#notifying) {
      this.#notifyAgain = true;
      return;
    }
    const client = this.#client;
    if (client === undefined) return;
    this.#notifying = true;
    const done = () => {
      this.#notifying = false;
      if (!this.#notifyAgain) return;
      this.#notifyAgain = false;
      this.notify();
    };
    client
      .query(`NOTIFY ${this.#channel}`)
      .catch(() => this.#reopen(client))
      .finally(() => setTimeout(done, pauseMs).unref());
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    const client = this.#client;
    if (client === undefined) return;
    this.#client = undefined;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, closeTimeoutMs);
    });
    await Promise.race([client.end().catch(() => undefined), late]);
    clearTimeout(timer);
  }

  /** A broken connection may report several errors. Only the first error of the current connection counts. */
  #reopen(broken: pg.Client): void {
    if (this.#client !== broken) return;
    this.#client = undefined;
    broken.removeAllListeners();
    broken.on("error", () => undefined);
    broken.end().catch(() => undefined);
    if (this.#closed) return;
    this.#retry = setTimeout(() => void this.open(), retryAfterMs);
    this.#retry.unref();
  }
}
