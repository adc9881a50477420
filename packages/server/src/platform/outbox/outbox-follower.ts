import type { Clock } from "../clock.ts";
import { CoalescedTask } from "../concurrency/coalesced-task.ts";
import type { Database } from "../db/database.ts";
import type { Log } from "../log.ts";
import { type OutboxEntry, type OutboxPosition, outboxKeptForMs, readOutbox } from "./outbox.queries.ts";

/** The longest time between two reads, in milliseconds, if no notification arrives. */
const intervalMs = 250;
/** Notifications within this time share a read, in milliseconds. */
const wakeDelayMs = 5;
/** After a longer absence than this, in milliseconds, entries may have been deleted before this replica read them. */
const longestAbsenceMs = outboxKeptForMs / 2;

export interface OutboxFollowerOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

export interface OutboxSubscriber {
  /** A command changed records. Entries of one tenant arrive in order. */
  changed(entry: OutboxEntry): void;
  /** An unknown number of entries was missed: everything that was derived from earlier ones may be wrong. */
  missed(): void;
}

/** Notifies the subscribers of this replica of the changes of every replica: on notification, and by a timer. */
export class OutboxFollower {
  readonly #options: OutboxFollowerOptions;
  readonly #subscribers: OutboxSubscriber[] = [];
  readonly #reading = new CoalescedTask({ run: () => this.#read(), delayMs: wakeDelayMs, intervalMs });
  #position: OutboxPosition | undefined;
  #currentAsOf = Number.NEGATIVE_INFINITY;
  /** The same time by the wall clock, which advances even while the machine sleeps. */
  #currentAsOfTime = 0;
  #isFailing = false;

  constructor(options: OutboxFollowerOptions) {
    this.#options = options;
  }

  subscribe(subscriber: OutboxSubscriber): void {
    this.#subscribers.push(subscriber);
  }

  /** The time, by `clock.elapsedMs()`, up to which the subscribers were notified of every committed change. */
  get currentAsOf(): number {
    return this.#currentAsOf;
  }

  /** Reads the position to follow from. Call it before the server accepts requests. */
  async start(): Promise<void> {
    await this.#reading.runNow();
    this.#reading.start();
  }

  /** Reads soon: there may be new entries. */
  wake(): void {
    this.#reading.request();
  }

  stop(): Promise<void> {
    return this.#reading.stop();
  }

  async #read(): Promise<void> {
    const { database, clock, log } = this.#options;
    const startedAt = clock.elapsedMs();
    const startedAtTime = clock.now().getTime();
    try {
      const { entries, position, complete } = await readOutbox(database, this.#position);
      const absentMs = Math.max(startedAt - this.#currentAsOf, startedAtTime - this.#currentAsOfTime);
      if (!complete || absentMs > longestAbsenceMs) {
        if (this.#position !== undefined) log.warn("missed outbox entries; continuing from the current position");
        for (const subscriber of this.#subscribers) subscriber.missed();
      }
      for (const entry of entries) {
        for (const subscriber of this.#subscribers) subscriber.changed(entry);
      }
      this.#position = position;
      this.#currentAsOf = startedAt;
      this.#currentAsOfTime = startedAtTime;
      if (this.#isFailing) log.info("outbox is readable again");
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) log.warn({ err: error }, "failed to read the outbox; every request checks its API key");
      this.#isFailing = true;
    }
  }
}
