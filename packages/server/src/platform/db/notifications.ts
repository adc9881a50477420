import pg from "pg";
import type { Connection } from "./database.ts";

const retryAfterMs = 1_000;
/** A connection that takes longer than this to answer is given up, in milliseconds. */
const answerTimeoutMs = 5_000;
/** How long closing waits for the server's goodbye, in milliseconds. */
const closeTimeoutMs = 1_000;

/** A connection of its own that listens on a channel and tells others; it comes back by itself when it breaks. */
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

  /** Starts listening; never rejects, since the channel only speeds up what a timer does anyway. */
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
   * Tells every listener, itself included; calls while one is under way share the next. Lost when there is no connection:
   * the timers of the others cover that.
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
    client.query(`NOTIFY ${this.#channel}`).then(done, () => {
      this.#reopen(client);
      done();
    });
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

  /** A broken connection may report more than once; only the first report of the present one counts. */
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
