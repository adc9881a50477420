import { isOutage, isTemporary } from "../background-failures.ts";
import { nilId } from "../ids.ts";
import type { Log } from "../log.ts";
import { LockWaitSlots, shortWaitMs } from "./lock-wait-slots.ts";
import { TenantRetries } from "./tenant-retries.ts";

/** The number of tasks that run at the same time, by default. */
const defaultSlots = 4;
/** The number of slow tasks that run beside them, by default. */
const defaultSlowSlots = 2;
/** How long a round waits, in milliseconds. A task that runs longer is slow. */
const slowMs = 2_000;
/** How long shutdown waits for tasks, in milliseconds. */
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
  /** The number of tasks that run at the same time, except for slow tasks. */
  readonly slots?: number;
  /** The number of slow tasks that run beside them. */
  readonly slowSlots?: number;
  /**
   * Whether rounds are rare, and not urgent. They wait for all first attempts, however long these take, and no task is
   * slow. The task of a busy tenant runs again when the pause of the tenant ends.
   */
  readonly isRare?: boolean;
}

interface Round {
  readonly task: TenantTask;
  /** The outage of the database that ended the round. */
  outage: unknown;
}

/**
 * Runs background work for many tenants, some of them busy: their locks are held, or their share of the connections is
 * exhausted. A busy tenant does not delay the others (docs/decisions/0271-rounds-of-tenants.md).
 *
 * A few tasks run concurrently, with short waits for locks. After a failure, a tenant is paused, and its next task may
 * wait longer for locks. Slow tasks, and tasks with long waits, use separate slots. Tenants with fewer failures are
 * served first. A tenant has one task at a time. The next task retries the items of a failed one.
 */
export class TenantRounds {
  readonly #options: TenantRoundsOptions;
  readonly #retries = new TenantRetries();
  /** The tasks that run or wait for a slot, by tenant. */
  readonly #tasks = new Map<string, Promise<void>>();
  readonly #slots: LockWaitSlots;
  #endWaiting = () => {};
  /** Resolves when rounds must stop waiting for tasks. */
  readonly #stopped = new Promise<void>((resolve) => {
    this.#endWaiting = resolve;
  });
  #isStopping = false;
  /** The first failure that no caller has received, except for those of busy tenants. */
  #failure: unknown;

  constructor(options: TenantRoundsOptions) {
    this.#options = options;
    this.#slots = new LockWaitSlots(limitsOf(options));
  }

  /** The tenants that a round would skip now: their tasks are in progress, or they are paused. */
  get unavailable(): readonly string[] {
    return [...this.#tasks.keys(), ...this.#retries.pausing];
  }

  /** The tenants whose last task failed. */
  get failing(): readonly string[] {
    return this.#retries.failing;
  }

  /**
   * Runs a task for each tenant that is available, and waits for first attempts for at most `slowMs`, unless rounds are
   * rare. Busy tenants are only logged.
   *
   * @throws at once if the database is unavailable; otherwise the first permanent failure since the last round, after
   *   the other tasks
   */
  async run(tenantIds: Iterable<string>, task: TenantTask): Promise<void> {
    const round: Round = { task, outage: undefined };
    await this.#runSome(round, tenantIds);
    this.#throwFailure(round);
  }

  /**
   * Like `run`, for all tenants in pages.
   *
   * @param read returns the tenants of the next page, ordered by id; an empty page is the last one
   */
  async runPages(read: (afterTenantId: string) => Promise<readonly string[]>, task: TenantTask): Promise<void> {
    const round: Round = { task, outage: undefined };
    for (
      let last: string | undefined = nilId;
      last !== undefined && round.outage === undefined && !this.#isStopping;
    ) {
      const tenantIds = await read(last);
      await this.#runSome(round, tenantIds);
      last = tenantIds.at(-1);
    }
    this.#throwFailure(round);
  }

  /** Starts no further task, and waits at most `stopMs` for tasks in progress. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#slots.close();
    await atMost(stopMs, this.#tasks.values());
    this.#endWaiting();
  }

  /**
   * Stops, and makes a last attempt for each tenant, including paused tenants. Tenants with fewer failures are first.
   *
   * @param lost the log message for tenants whose work is lost
   */
  async finish(tenantIds: Iterable<string>, task: TenantTask, lost: string): Promise<void> {
    this.#slots.close();
    const slots = new LockWaitSlots(limitsOf(this.#options));
    const left = new Set(tenantIds);
    let err: unknown;
    const attempt = async (tenantId: string) => {
      await this.#tasks.get(tenantId);
      const slot = await slots.acquire(this.#retries.waitMs(tenantId));
      if (slot === undefined) return;
      try {
        await task(tenantId, shortWaitMs);
        left.delete(tenantId);
      } catch (error) {
        err ??= error;
      } finally {
        slot.release();
      }
    };
    const waitMs = (tenantId: string) => this.#retries.waitMs(tenantId);
    const ordered = [...left].sort((one, other) => waitMs(one) - waitMs(other));
    await atMost(stopMs, ordered.map(attempt));
    slots.close();
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
    if (this.#options.isRare === true) await Promise.race([Promise.all(ended), this.#stopped]);
    else await atMost(slowMs, ended);
  }

  #start(round: Round, tenantId: string): Promise<void> {
    const ended = this.#inSlot(round, tenantId).finally(() => this.#tasks.delete(tenantId));
    this.#tasks.set(tenantId, ended);
    return ended;
  }

  async #inSlot(round: Round, tenantId: string): Promise<void> {
    const waitMs = this.#retries.waitMs(tenantId);
    const slot = await this.#slots.acquire(waitMs);
    if (slot === undefined) return;
    const timer = this.#options.isRare === true ? undefined : setTimeout(() => slot.becomeLong(), slowMs);
    try {
      if (round.outage === undefined) await this.#attempt(round, tenantId, waitMs);
    } finally {
      clearTimeout(timer);
      slot.release();
    }
  }

  /** Never rejects. */
  async #attempt(round: Round, tenantId: string, waitMs: number): Promise<void> {
    const { log, failed, isRare = false } = this.#options;
    try {
      await round.task(tenantId, waitMs);
      this.#retries.succeeded(tenantId);
    } catch (error) {
      if (isOutage(error)) {
        round.outage ??= error;
        return;
      }
      const isBusy = isTemporary(error);
      if (!isBusy) this.#failure ??= error;
      const retryMs = this.#retries.failed(tenantId);
      // Another attempt would not remedy a permanent failure, and the next round of rare rounds is far away.
      const isRepeated = isRare && isBusy;
      if (isRepeated) setTimeout(() => this.#repeat(round.task, tenantId), retryMs).unref();
      const fields = { err: error, tenantId, ...((isRepeated || !isRare) && { retryMs }) };
      if (isBusy) log.warn(fields, failed);
      else log.error(fields, failed);
    }
  }

  #repeat(task: TenantTask, tenantId: string): void {
    if (this.#retries.hasFailed(tenantId) && !this.#tasks.has(tenantId)) {
      void this.#start({ task, outage: undefined }, tenantId);
    }
  }

  #throwFailure({ outage }: Round): void {
    if (outage !== undefined) throw outage;
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
  }
}

function limitsOf({ slots: short = defaultSlots, slowSlots: long = defaultSlowSlots }: TenantRoundsOptions) {
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
