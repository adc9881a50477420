import type { Clock } from "./clock.ts";
import type { Database } from "./db/database.ts";
import { readDatabaseClock } from "./shared-time.queries.ts";

export interface SharedTimeOptions {
  readonly database: Database;
  readonly clock: Clock;
  /** The database's time, if a test moves it. */
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

  /** The replica's own time before the first reading. */
  now(): Date {
    const { clock } = this.#options;
    return this.#origin === undefined ? clock.now() : new Date(this.#origin + clock.elapsedMs());
  }

  /** Reads the database's time. @returns it @throws AppError database_unavailable */
  async synchronize(): Promise<Date> {
    const { clock } = this.#options;
    const asked = clock.elapsedMs();
    const read = await this.#read();
    const answered = clock.elapsedMs();
    // The database read its clock between the question and the answer. A slow answer is no reason to change the time.
    const earliest = read - answered;
    const latest = read - asked;
    this.#origin = Math.min(Math.max(this.#origin ?? earliest, earliest), latest);
    return this.now();
  }

  async #read(): Promise<number> {
    const { database, databaseTime } = this.#options;
    if (databaseTime !== undefined) return databaseTime().getTime();
    return database.snapshot({ kind: "operator" }, readDatabaseClock);
  }
}
