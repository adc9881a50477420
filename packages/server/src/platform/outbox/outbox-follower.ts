import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import type { Log } from "../log.ts";
import { type OutboxEntry, type OutboxPosition, outboxKeptForMs, readOutbox } from "./outbox.queries.ts";

/** How often the outbox is read when nobody says that there is news, in milliseconds. */
const intervalMs = 250;
/** Commands that finish within this time share one reading, in milliseconds. */
const gatherMs = 5;
/** A follower that could not read for longer than this may find entries cleared away, in milliseconds. */
const longestAbsenceMs = outboxKeptForMs / 2;

export interface OutboxFollowerOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

export interface OutboxSubscriber {
  /** Somebody changed something. Entries of one tenant come in order. */
  changed(entry: OutboxEntry): void;
  /** Entries were missed, nobody knows which: whatever was concluded from earlier ones may be wrong by now. */
  missed(): void;
}

/**
 * Tells this replica what every replica changed: at once when it is told that there is news, and by a timer in any case.
 */
export class OutboxFollower {
  readonly #options: OutboxFollowerOptions;
  readonly #subscribers: OutboxSubscriber[] = [];
  #position: OutboxPosition | undefined;
  #currentAsOf = Number.NEGATIVE_INFINITY;
  /** The same moment by the calendar, which also counts while the machine sleeps. */
  #currentAsOfTime = 0;
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;
  #again = false;
  #failing = false;
  #stopped = false;

  constructor(options: OutboxFollowerOptions) {
    this.#options = options;
  }

  subscribe(subscriber: OutboxSubscriber): void {
    this.#subscribers.push(subscriber);
  }

  /** The moment, by `clock.elapsedMs()`, up to which every committed change has been told to the subscribers. */
  get currentAsOf(): number {
    return this.#currentAsOf;
  }

  /** Reads the position to follow from. Call before serving. */
  async start(): Promise<void> {
    await this.#read();
    this.#schedule(intervalMs);
  }

  /** There may be news: read soon. */
  wake(): void {
    if (this.#reading !== undefined) this.#again = true;
    else this.#schedule(gatherMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#reading;
  }

  #schedule(afterMs: number): void {
    if (this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined;
        this.#schedule(this.#again ? gatherMs : intervalMs);
        this.#again = false;
      });
    }, afterMs);
    this.#timer.unref();
  }

  async #read(): Promise<void> {
    const { database, clock, log } = this.#options;
    const startedAt = clock.elapsedMs();
    const startedAtTime = clock.now().getTime();
    try {
      const { entries, position, complete } = await readOutbox(database, this.#position);
      const absentMs = Math.max(startedAt - this.#currentAsOf, startedAtTime - this.#currentAsOfTime);
      if (!complete || absentMs > longestAbsenceMs) {
        if (this.#position !== undefined) log.warn("entries of the outbox were missed; starting anew from the present");
        for (const subscriber of this.#subscribers) subscriber.missed();
      }
      for (const entry of entries) {
        for (const subscriber of this.#subscribers) subscriber.changed(entry);
      }
      this.#position = position;
      this.#currentAsOf = startedAt;
      this.#currentAsOfTime = startedAtTime;
      if (this.#failing) log.info("the outbox can be read again");
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) log.warn({ err: error }, "the outbox cannot be read; cached keys are checked each time");
      this.#failing = true;
    }
  }
}
