/**
 * A queue of work that any replica can perform, in PostgreSQL with pg-boss. Jobs contain only ids, so that tenant data
 * stays inside the tenants' fences.
 */
import PgBoss from "pg-boss";
import { applicationRole, type Connection, type Transaction } from "../db/database.ts";
import { type JobQueueName, jobSchema } from "../db/job-schema.ts";
import { sessionPreparation } from "../db/session-settings.ts";
import { unprepared } from "../db/statement.ts";
import type { Log } from "../log.ts";

/** The most connections of the queue: one fetches jobs, one completes them. */
const poolSize = 2;
/** A job that runs longer belongs to a replica that died, in seconds. */
const expireInSeconds = 120;
/** How long finished jobs are retained, in seconds. */
const retentionSeconds = 3600;
/** How long running jobs can take when the queue stops, before they are aborted, in milliseconds. */
const graceMs = 2_000;

/** The content of a job: ids by name. */
export type JobContent = Readonly<Record<string, string>>;

export interface Job {
  readonly id: string;
  readonly content: JobContent;
}

export interface JobQueueOptions {
  readonly connection: Connection;
  readonly log: Log;
  /** The polling interval without a wake-up, in milliseconds. */
  readonly pollIntervalMs?: number;
}

export interface JobWork {
  readonly queue: JobQueueName;
  /** The most jobs that run at the same time on this replica. */
  readonly concurrency: number;
  /**
   * Performs the job. The queue does not retry a job that throws; the code that enqueued it finds that it was not done.
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
      onConnect: sessionPreparation({
        role: applicationRole,
        statement_timeout: 8_000,
        idle_in_transaction_session_timeout: 30_000,
      }),
      query_timeout: 9_000,
      connectionTimeoutMillis: 2_000,
      keepAlive: true,
      // If `start` fails, the pool is not closed and must not keep the process alive.
      allowExitOnIdle: true,
    };
    this.#boss = new PgBoss({
      ...(pool as PgBoss.DatabaseOptions), // passed to pg unchanged; the library's types omit most of it
      schema: jobSchema,
      migrate: false,
      supervise: false,
      schedule: false,
      archiveCompletedAfterSeconds: retentionSeconds,
      deleteAfterSeconds: retentionSeconds,
    });
    this.#boss.on("error", (error) => this.#log.warn({ err: error }, "job queue connection failed"));
  }

  /** @throws if the queue's schema is not the one that the library needs */
  async start(): Promise<void> {
    await this.#boss.start();
  }

  /** Adds jobs in a transaction, atomically with its other changes. Call `wake` after the commit. */
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

  /** Starts to perform the jobs of a queue. */
  work(work: JobWork): void {
    this.#work = work;
    this.wake();
  }

  /** Polls soon, because there may be work. */
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

  /** Deletes jobs whose replica died, and finished jobs. Safe to repeat, and to run on every replica. */
  async maintain(): Promise<void> {
    await this.#boss.maintain();
  }

  /** Stops fetching jobs, waits for the running ones, and closes the connections. */
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
    // If the database is unavailable, the library returns no jobs and hides the error.
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
      this.#log.warn({ err: error, queue, job: job.id }, "job failed; will be enqueued again");
    }
  }
}
