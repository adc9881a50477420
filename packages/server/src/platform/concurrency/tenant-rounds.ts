import { isOutage, isTemporary } from "../background-failures.ts";
import type { Log } from "../log.ts";
import { Semaphore } from "./semaphore.ts";
import { TenantRetries } from "./tenant-retries.ts";

/** The number of tasks that run at the same time, by default. */
const defaultPlaces = 4;
/** The number of late tasks that run beside them. */
const latePlaces = 2;
/** Sorts before every id. */
const nilId = "00000000-0000-0000-0000-000000000000";
/** A task that runs for longer than this is late, in milliseconds. */
const defaultSlowMs = 3_000;

/**
 * Work for one tenant. It must be safe to repeat.
 *
 * @param waitMs how long it may wait for a lock, in milliseconds; belongs in the scope of its transactions
 */
export type TenantTask = (tenantId: string, waitMs: number) => Promise<void>;

export interface TenantRoundsOptions {
  readonly log: Pick<Log, "warn" | "error">;
  /** The log message of a failed task, such as "failed to prune an audit record; will retry". */
  readonly failed: string;
  /** The number of tasks that run at the same time, except for late ones. */
  readonly places?: number;
  /** A task that runs for longer than this is late, in milliseconds. Infinity for tasks that may take long. */
  readonly slowMs?: number;
}

interface Round {
  readonly task: TenantTask;
  /** Whether no other round follows. */
  readonly isLast: boolean;
  /** The error that the tasks of all tenants would have. */
  outage: unknown;
}

/**
 * Background work for each of many tenants, of which some are busy: their locks are held, or their share of the
 * connections is used. A busy tenant delays no other one.
 *
 * Few tasks run at the same time, and their waits for locks are short. After a failure, a tenant pauses. Its next task
 * is late: it has one of a few other places, and no round waits for it. The same holds for tasks that take long. A
 * tenant has one task at a time, and the items of a failed task belong to the next one.
 */
export class TenantRounds {
  readonly #options: TenantRoundsOptions;
  readonly #retries = new TenantRetries();
  /** The tasks that run or wait for a place, by tenant. */
  readonly #tasks = new Map<string, Promise<void>>();
  readonly #places: Semaphore;
  readonly #latePlaces = new Semaphore(latePlaces);
  /** The first failure that no caller has received. */
  #failure: unknown;

  constructor(options: TenantRoundsOptions) {
    this.#options = options;
    this.#places = new Semaphore(options.places ?? defaultPlaces);
  }

  /** The tenants that a round would leave out now: their tasks are in progress, or they pause. */
  get unavailable(): readonly string[] {
    return [...this.#tasks.keys(), ...this.#retries.pausing];
  }

  /**
   * Runs a task for each tenant that is available. It ends when all tasks have ended, except for late ones.
   *
   * @throws the first failure since the last round, after all other tasks; at once, an error of the whole database
   */
  async run(tenantIds: Iterable<string>, task: TenantTask): Promise<void> {
    const round = { task, isLast: false, outage: undefined };
    await this.#runSome(round, tenantIds);
    this.#throwFailure(round);
  }

  /**
   * Like `run`, for all tenants in pages.
   *
   * @param read returns the tenants of the next page, ordered by id; an empty page is the last one
   */
  async runPages(read: (afterTenantId: string) => Promise<readonly string[]>, task: TenantTask): Promise<void> {
    const round: Round = { task, isLast: false, outage: undefined };
    for (let after: string | undefined = nilId; after !== undefined && round.outage === undefined; ) {
      const tenantIds = await read(after);
      await this.#runSome(round, tenantIds);
      after = tenantIds.at(-1);
    }
    this.#throwFailure(round);
  }

  /**
   * Runs a task for each tenant after all tasks in progress, also for tenants that pause, and waits for all of them.
   *
   * @throws like `run`
   */
  async finish(tenantIds: Iterable<string>, task: TenantTask): Promise<void> {
    await this.settled();
    const round = { task, isLast: true, outage: undefined };
    for (const tenantId of new Set(tenantIds)) void this.#start(round, tenantId);
    await this.settled();
    this.#throwFailure(round);
  }

  /** Waits for all tasks in progress, also for late ones. */
  async settled(): Promise<void> {
    await Promise.all(this.#tasks.values());
  }

  async #runSome(round: Round, tenantIds: Iterable<string>): Promise<void> {
    const unavailable = new Set(this.unavailable);
    const ended: Promise<void>[] = [];
    for (const tenantId of new Set(tenantIds)) {
      if (unavailable.has(tenantId)) continue;
      const isLate = this.#retries.hasFailed(tenantId);
      const started = this.#start(round, tenantId);
      if (!isLate) ended.push(started);
    }
    await Promise.all(ended);
  }

  /** @returns a promise that ends with the task, or when the task is late */
  #start(round: Round, tenantId: string): Promise<void> {
    return new Promise((resolve) => {
      const ended = this.#inPlace(round, tenantId, resolve).finally(() => {
        this.#tasks.delete(tenantId);
        resolve();
      });
      this.#tasks.set(tenantId, ended);
    });
  }

  async #inPlace(round: Round, tenantId: string, isLate: () => void): Promise<void> {
    let places = this.#retries.hasFailed(tenantId) && !round.isLast ? this.#latePlaces : this.#places;
    await places.acquire();
    const { slowMs = defaultSlowMs } = this.#options;
    const becomeLate = () => {
      isLate();
      if (places === this.#latePlaces || !this.#latePlaces.isFree) return;
      void this.#latePlaces.acquire();
      places.release();
      places = this.#latePlaces;
    };
    const timer = slowMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(becomeLate, slowMs);
    try {
      if (round.outage === undefined) await this.#attempt(round, tenantId);
    } finally {
      clearTimeout(timer);
      places.release();
    }
  }

  /** Never rejects. */
  async #attempt(round: Round, tenantId: string): Promise<void> {
    const { log, failed } = this.#options;
    try {
      await round.task(tenantId, this.#retries.waitMs(tenantId));
      this.#retries.succeeded(tenantId);
    } catch (error) {
      if (isOutage(error)) {
        round.outage ??= error;
        return;
      }
      this.#failure ??= error;
      const retryMs = this.#retries.failed(tenantId);
      log[isTemporary(error) ? "warn" : "error"]({ err: error, tenantId, retryMs }, failed);
    }
  }

  #throwFailure(round: Round): void {
    const failure = round.outage ?? this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
  }
}
