import { isOutage, isTemporary } from "../background-failures.ts";
import type { Log } from "../log.ts";
import { TenantRetries } from "./tenant-retries.ts";
import { shortWaitMs, WaitPlaces } from "./wait-places.ts";

/** The number of tasks that run at the same time, by default. */
const defaultPlaces = 4;
/** The number of late tasks that run beside them, by default. */
const defaultLatePlaces = 2;
/** Sorts before every id. */
const nilId = "00000000-0000-0000-0000-000000000000";
/** A round waits at most this long, and a task that runs for longer is late, in milliseconds. */
const slowMs = 2_000;
/** How long the end of the process waits for tasks, in milliseconds. */
const stopMs = 10_000;
/** The most tenants that a log message names. */
const mostNamed = 20;

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
  /** The number of late tasks that run beside them. */
  readonly latePlaces?: number;
  /**
   * Whether rounds are rare, and not urgent. They wait for all first attempts, however long these take, and a failed
   * task runs again when the pause of its tenant ends.
   */
  readonly isRare?: boolean;
}

interface Round {
  readonly task: TenantTask;
  /** The error that the tasks of all tenants would have. */
  outage: unknown;
}

/**
 * Background work for each of many tenants, of which some are busy: their locks are held, or their share of the
 * connections is used. A busy tenant delays no other one.
 *
 * Few tasks run at the same time, and their waits for locks are short. After a failure, a tenant pauses, and its next
 * task may wait longer. Tasks with long waits, and those that take long, are late: they have a few other places.
 * Tenants with fewer failures are served first. A tenant has one task at a time, and the items of a failed task belong
 * to the next one.
 */
export class TenantRounds {
  readonly #options: TenantRoundsOptions;
  readonly #retries = new TenantRetries();
  /** The tasks that run or wait for a place, by tenant. */
  readonly #tasks = new Map<string, Promise<void>>();
  readonly #places: WaitPlaces;
  /** The first failure that no caller has received, except for those of busy tenants. */
  #failure: unknown;

  constructor(options: TenantRoundsOptions) {
    this.#options = options;
    this.#places = new WaitPlaces(limitsOf(options));
  }

  /** The tenants that a round would leave out now: their tasks are in progress, or they pause. */
  get unavailable(): readonly string[] {
    return [...this.#tasks.keys(), ...this.#retries.pausing];
  }

  /** The tenants whose last task failed. */
  get failing(): readonly string[] {
    return this.#retries.failing;
  }

  /**
   * Runs a task for each tenant that is available, and waits for the first attempts, but not for long. Busy tenants are
   * only logged.
   *
   * @throws an error of the whole database; another failure since the last round, after the other tasks
   */
  async run(tenantIds: Iterable<string>, task: TenantTask): Promise<void> {
    await this.#runSome({ task, outage: undefined }, tenantIds);
    this.#throwFailure();
  }

  /**
   * Like `run`, for all tenants in pages.
   *
   * @param read returns the tenants of the next page, ordered by id; an empty page is the last one
   */
  async runPages(read: (afterTenantId: string) => Promise<readonly string[]>, task: TenantTask): Promise<void> {
    const round: Round = { task, outage: undefined };
    for (let after: string | undefined = nilId; after !== undefined && round.outage === undefined; ) {
      const tenantIds = await read(after);
      await this.#runSome(round, tenantIds);
      after = tenantIds.at(-1);
    }
    this.#throwFailure();
  }

  /** Starts no further task, and waits for those in progress, but not for long. */
  async stop(): Promise<void> {
    this.#places.close();
    await atMost(stopMs, this.#tasks.values());
  }

  /**
   * Stops, and makes a last attempt for each tenant, also for those that pause. Tenants with fewer failures are first.
   *
   * @param lost the log message for the tenants without success
   */
  async finish(tenantIds: Iterable<string>, task: TenantTask, lost: string): Promise<void> {
    this.#places.close();
    const places = new WaitPlaces(limitsOf(this.#options));
    const left = new Set(tenantIds);
    let err: unknown;
    const attempt = async (tenantId: string) => {
      await this.#tasks.get(tenantId);
      const place = await places.acquire(this.#retries.waitMs(tenantId));
      if (place === undefined) return;
      try {
        await task(tenantId, shortWaitMs);
        left.delete(tenantId);
      } catch (error) {
        err ??= error;
      } finally {
        place.release();
      }
    };
    const waitMs = (tenantId: string) => this.#retries.waitMs(tenantId);
    const ordered = [...left].sort((one, other) => waitMs(one) - waitMs(other));
    await atMost(stopMs, ordered.map(attempt));
    places.close();
    const tenantIdsLeft = [...left].slice(0, mostNamed);
    if (left.size > 0) this.#options.log.error({ err, tenants: left.size, tenantIds: tenantIdsLeft }, lost);
  }

  async #runSome(round: Round, tenantIds: Iterable<string>): Promise<void> {
    const unavailable = new Set(this.unavailable);
    const ended: Promise<void>[] = [];
    for (const tenantId of new Set(tenantIds)) {
      if (unavailable.has(tenantId)) continue;
      const hasFailed = this.#retries.hasFailed(tenantId);
      const started = this.#start(round, tenantId);
      if (!hasFailed) ended.push(started);
    }
    if (this.#options.isRare === true) await Promise.all(ended);
    else await atMost(slowMs, ended);
  }

  #start(round: Round, tenantId: string): Promise<void> {
    const ended = this.#inPlace(round, tenantId).finally(() => this.#tasks.delete(tenantId));
    this.#tasks.set(tenantId, ended);
    return ended;
  }

  async #inPlace(round: Round, tenantId: string): Promise<void> {
    const waitMs = this.#retries.waitMs(tenantId);
    const place = await this.#places.acquire(waitMs);
    if (place === undefined) return;
    const timer = this.#options.isRare === true ? undefined : setTimeout(() => place.becomeLong(), slowMs);
    try {
      if (round.outage === undefined) await this.#attempt(round, tenantId, waitMs);
    } finally {
      clearTimeout(timer);
      place.release();
    }
  }

  /** Never rejects. */
  async #attempt(round: Round, tenantId: string, waitMs: number): Promise<void> {
    const { log, failed } = this.#options;
    try {
      await round.task(tenantId, waitMs);
      this.#retries.succeeded(tenantId);
    } catch (error) {
      if (isOutage(error)) {
        round.outage ??= error;
        this.#failure = error;
        return;
      }
      if (!isTemporary(error)) this.#failure ??= error;
      const retryMs = this.#retries.failed(tenantId);
      log[isTemporary(error) ? "warn" : "error"]({ err: error, tenantId, retryMs }, failed);
      if (this.#options.isRare === true && isTemporary(error))
        setTimeout(() => this.#repeat(round.task, tenantId), retryMs).unref();
    }
  }

  #repeat(task: TenantTask, tenantId: string): void {
    if (this.#retries.hasFailed(tenantId) && !this.#tasks.has(tenantId)) {
      void this.#start({ task, outage: undefined }, tenantId);
    }
  }

  #throwFailure(): void {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
  }
}

function limitsOf({ places: short = defaultPlaces, latePlaces: long = defaultLatePlaces }: TenantRoundsOptions) {
  return { short, long };
}

/** Waits for all promises, but not longer than `ms`. */
async function atMost(ms: number, promises: Iterable<Promise<void>>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([Promise.all(promises), elapsed]);
  clearTimeout(timer);
}
