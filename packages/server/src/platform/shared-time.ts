import type { Clock } from "./clock.ts";
import type { Database } from "./db/database.ts";
import { readDatabaseClock } from "./shared-time.queries.ts";

export interface SharedTimeOptions {
  readonly database: Database;
  readonly clock: Clock;
  /** Replaces the database's time in tests. */
  readonly databaseTime?: (() => Date) | undefined;
}

/**
 * The database's time. All replicas compare the heartbeats of gateways by it, because their own clocks differ. Between
 * two readings it advances by the monotonic clock.
 */
export class SharedTime {
  readonly #options: SharedTimeOptions;
  /** The database's time when `elapsedMs` was 0, in milliseconds since 1970; undefined before the first reading. */
  #origin: number | undefined;

  constructor(options: SharedTimeOptions) {
    this.#options = options;
  }

  /** Returns the database's time, or the replica's own time before the first reading. */
  now(): Date {
    const { clock } = this.#options;
    return this.#origin === undefined ? clock.now() : new Date(this.#origin + clock.elapsedMs());
  }

  /** Reads and returns the database's time. @throws AppError database_unavailable */
  async synchronize(): Promise<Date> {
    const { clock } = this.#options;
    const requestedAt = clock.elapsedMs();
    const read = await this.#read();
    const answeredAt = clock.elapsedMs();
    // The database read its clock between the request and the response. The origin changes only if it is outside this
    // interval, so network delay does not shift the time.
    const earliest = read - answeredAt;
    const latest = read - requestedAt;
    this.#origin = Math.min(Math.max(this.#origin ?? earliest, earliest), latest);
    return this.now();
  }

  async #read(): Promise<number> {
    const { database, databaseTime } = this.#options;
    if (databaseTime !== undefined) return databaseTime().getTime();
    return database.snapshot({ kind: "operator" }, readDatabaseClock);
  }
}
