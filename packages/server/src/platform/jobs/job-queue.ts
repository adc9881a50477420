/**
 * Work that is handed from one replica to another through PostgreSQL, by pg-boss. Jobs carry ids only: what they are about
 * stays inside the tenants' fences.
 */
import PgBoss from "pg-boss";
import { applicationRole, type Connection, type Transaction } from "../db/database.ts";
import { type JobQueueName, jobSchema } from "../db/job-schema.ts";
import { unprepared } from "../db/statement.ts";
import type { Log } from "../log.ts";

/** Connections of its own at most: one fetches, one finishes. */
const poolSize = 2;
/** A job that is under way for longer belongs to a replica that died, in seconds. */
const expireInSeconds = 120;
/** How long a job that is no longer looked at is kept, in seconds. */
const keptForSeconds = 3600;
/** How long jobs under way may take when the queue stops, before they are told to, in milliseconds. */
const graceMs = 2_000;

/** What a job is about: ids, by name. */
export type JobContent = Readonly<Record<string, string>>;

export interface Job {
  readonly id: string;
  readonly content: JobContent;
}

export interface JobQueueOptions {
  readonly connection: Connection;
  readonly log: Log;
  /** How often the queue is looked into when nobody says that there is work, in milliseconds. */
  readonly pollIntervalMs?: number;
}

export interface JobWork {
  readonly queue: JobQueueName;
  /** Jobs under way at the same time, on this replica. */
  readonly concurrency: number;
  /**
   * Does the job. One that throws is not tried again by the queue: whoever enqueued it finds that it was not done.
   *
   * @param signal aborted when the replica stops and the job should end soon
   */
  readonly perform: (job: Job, signal: AbortSignal) => Promise<void>;
}

export class JobQueue {
  readonly #boss: PgBoss;
  readonly #log: Log;
  readonly #pollIntervalMs: number;
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #work: JobWork | undefined;
  #timer: NodeJS.Timeout | undefined;
  #fetching: Promise<void> | undefined;
  #fetchAgain = false;
  #stopped = false;

  constructor(options: JobQueueOptions) {
    this.#log = options.log;
    this.#pollIntervalMs = options.pollIntervalMs ?? 1_000;
    const pool = {
      ...options.connection,
      max: poolSize,
      application_name: "gatehouse jobs",
      options: `-c role=${applicationRole} -c statement_timeout=8000 -c idle_in_transaction_session_timeout=30000`,
      query_timeout: 9_000,
      connectionTimeoutMillis: 2_000,
      keepAlive: true,
      // Where `start` fails, nobody closes the pool; it must not hold the process open.
      allowExitOnIdle: true,
    };
    this.#boss = new PgBoss({
      ...(pool as PgBoss.DatabaseOptions), // handed to pg as it is; the library's types leave most of it out
      schema: jobSchema,
      migrate: false,
      supervise: false,
      schedule: false,
      archiveCompletedAfterSeconds: keptForSeconds,
      deleteAfterSeconds: keptForSeconds,
    });
    this.#boss.on("error", (error) => this.#log.warn({ err: error }, "a connection of the job queue broke"));
  }

  /** @throws when the queue's schema is not the one that the library needs */
  async start(): Promise<void> {
    await this.#boss.start();
  }

  /** Adds jobs in a transaction, with which they come into being or not. `wake` the queue once it has committed. */
  async enqueue(transaction: Transaction, queue: JobQueueName, jobs: readonly Job[]): Promise<void> {
    if (jobs.length === 0) return;
    await this.#boss.insert(
      jobs.map(({ id, content }) => ({ id, name: queue, data: content, retryLimit: 0, expireInSeconds })),
      {
        db: {
          async executeSql(text, values) {
            await transaction.query(unprepared<never, readonly unknown[]>(text), ...values);
            return { rows: [] };
          },
        },
      },
    );
  }

  /** Begins to do the jobs of a queue. */
  work(work: JobWork): void {
    this.#work = work;
    this.wake();
  }

  /** There may be work: look soon. */
  wake(): void {
    if (this.#work === undefined || this.#stopped) return;
    if (this.#fetching !== undefined) {
      this.#fetchAgain = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#fetching = this.#fetch(this.#work).finally(() => {
      this.#fetching = undefined;
      if (this.#stopped) return;
      if (this.#fetchAgain) {
        this.#fetchAgain = false;
        this.wake();
        return;
      }
      this.#timer = setTimeout(() => this.wake(), this.#pollIntervalMs);
      this.#timer.unref();
    });
  }

  /** Clears away jobs whose replica died, and what is left of old ones. Safe to repeat, and on every replica. */
  async maintain(): Promise<void> {
    await this.#boss.maintain();
  }

  /** Takes no more jobs, lets those under way end, and closes the connections. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    const timer = setTimeout(() => this.#stopping.abort(), graceMs);
    await this.#fetching;
    await Promise.all(this.#running);
    clearTimeout(timer);
    await this.#boss.stop({ graceful: false });
  }

  async #fetch(work: JobWork): Promise<void> {
    const free = work.concurrency - this.#running.size;
    if (free <= 0) return;
    // Where the database is away, there are none: the library keeps the error to itself.
    const jobs = await this.#boss.fetch<JobContent>(work.queue, { batchSize: free });
    for (const { id, data } of jobs) {
      const done = this.#perform(work, { id, content: data }).finally(() => {
        this.#running.delete(done);
        this.wake();
      });
      this.#running.add(done);
    }
  }

  async #perform({ queue, perform }: JobWork, job: Job): Promise<void> {
    try {
      await perform(job, this.#stopping.signal);
      await this.#boss.deleteJob(queue, job.id);
    } catch (error) {
      this.#log.warn({ err: error, queue, job: job.id }, "a job failed; it will be made again");
    }
  }
}
