import { performance } from "node:perf_hooks";
import type { Work } from "@gatehouse/policy/work";

/**
 * How long queued work may block the event loop at a time, in milliseconds. One evaluation of a rule takes up to 4, or
 * up to 9 for a rule that only former costs allow.
 */
const sliceMs = 2;

/** The rest of the event loop gets this many times the length of the last slice, if anything else runs on it. */
const restShare = 3;

/** The activity of others during a pause, in milliseconds, below which the event loop counts as free. */
const othersMs = 0.2;

/**
 * The time for which others count as active after their last activity, in milliseconds: about two pauses. Others that
 * are active less often wait for one slice at most, and need no pauses.
 */
const recentMs = 10;

/** Units of one tenant before the next tenant's turn: about 0.5 ms. */
const unitsInATurn = 25_000;

/** The units after which the time is read. */
const unitsBetweenReadings = 2_000;

/** The number of yields after which the time is read: their costs may be wrong. */
const yieldsBetweenReadings = 32;

/** Late work of a tenant gets one of this many turns while the tenant has other work, so that it always continues. */
const turnsBetweenLate = 10;

/** Work that starts at once may block the event loop for this long between two rounds of it, in milliseconds. */
const startMs = 1;

/** The clock and the event loop. Tests replace them. */
export interface EventLoop {
  nowMs(): number;
  /** Milliseconds for which the event loop has been active. */
  activeMs(): number;
  /** Calls back after the other events that are due. */
  afterEvents(callback: () => void): void;
  after(ms: number, callback: () => void): void;
}

export const nodeEventLoop: EventLoop = {
  nowMs: () => performance.now(),
  activeMs: () => performance.eventLoopUtilization().active,
  afterEvents: (callback) => void setImmediate(callback),
  after: (ms, callback) => void setTimeout(callback, ms),
};

/** The use of the replica by tenants. */
export interface TenantUsage {
  /** Charges a tenant for work that took this time, in milliseconds. */
  charge(tenantId: string, ms: number): void;
  /** Whether no other tenant has sent requests recently. */
  isAlone(tenantId: string): boolean;
}

const unmetered: TenantUsage = { charge: () => undefined, isAlone: () => false };

/** The units that a piece of work may spend. */
export interface WorkLimits {
  /**
   * Called with each cost before the work continues.
   *
   * @throws the error that ends the work
   */
  spend(units: number): void;
}

/** A work that ended, or that was stopped. */
export type Outcome<Result> = { readonly result: Result } | { readonly stopped: true };

interface Job {
  readonly tenantId: string;
  /** Whether the other work of the tenant comes first. */
  readonly isLate: boolean;
  readonly work: Work<unknown>;
  readonly limits: WorkLimits | undefined;
  /** The job is stopped after this many units. */
  unitsLeft: number;
  readonly settle: (outcome: Outcome<unknown>) => void;
  readonly fail: (error: unknown) => void;
}

interface Tenant {
  readonly id: string;
  readonly jobs: Job[];
  /** Performed every `turnsBetweenLate` turns, and if the tenant has no other work. */
  readonly lateJobs: Job[];
  turns: number;
}

/**
 * Performs work of all tenants in slices. Tenants take turns, and so do the pieces of work of a tenant. Between two
 * slices, requests and heartbeats are served: they get at least twice the time of a slice, if they need it. While only
 * one tenant sends requests, they wait for one slice at most.
 *
 * Small work is finished at once, without a turn of the event loop.
 */
export class FairQueue {
  readonly #loop: EventLoop;
  readonly #usage: TenantUsage;
  readonly #tenants = new Map<string, Tenant>();
  /** Tenants with work, in the order of their turns. */
  readonly #turns: Tenant[] = [];
  #isScheduled = false;
  #isRunning = false;
  /** The last time at which others were active. A tenant that waits for the database is not idle. */
  #othersActiveAt = Number.NEGATIVE_INFINITY;
  /** The time that work used since the last round of the event loop. */
  #startedMs = 0;

  constructor(loop: EventLoop = nodeEventLoop, usage: TenantUsage = unmetered) {
    this.#loop = loop;
    this.#usage = usage;
  }

  /** The number of pieces of work that wait. */
  get waiting(): number {
    return this.#turns.reduce((sum, { jobs, lateJobs }) => sum + jobs.length + lateJobs.length, 0);
  }

  /** Finishes background work. Other work of the tenant gets most of the tenant's time. */
  async runLate<Result>(tenantId: string, work: Work<Result>): Promise<Result> {
    const outcome = await this.#enter(tenantId, work, Number.POSITIVE_INFINITY, undefined, true);
    return resultOf(outcome);
  }

  /**
   * Finishes a work.
   *
   * @throws the error of the work or of its limits
   */
  async run<Result>(tenantId: string, work: Work<Result>, limits?: WorkLimits): Promise<Result> {
    return resultOf(await this.runUpTo(tenantId, work, Number.POSITIVE_INFINITY, limits));
  }

  /** Performs a work until it has spent this many units. A stopped work can be continued with another call. */
  async runUpTo<Result>(
    tenantId: string,
    work: Work<Result>,
    units: number,
    limits?: WorkLimits,
  ): Promise<Outcome<Result>> {
    return this.#enter(tenantId, work, units, limits, false);
  }

  #enter<Result>(
    tenantId: string,
    work: Work<Result>,
    units: number,
    limits: WorkLimits | undefined,
    isLate: boolean,
  ): Promise<Outcome<Result>> {
    return new Promise((resolve, reject) => {
      const job: Job = {
        tenantId,
        isLate,
        work,
        limits,
        unitsLeft: units,
        settle: (outcome) => resolve(outcome as Outcome<Result>), // the result of this work
        fail: reject,
      };
      if (this.#startsAtOnce(tenantId) && this.#runNow(job)) return;
      this.#add(tenantId, job);
    });
  }

  #startsAtOnce(tenantId: string): boolean {
    return !this.#isRunning && !this.#tenants.has(tenantId) && this.#startedMs < startMs;
  }

  #runNow(job: Job): boolean {
    // The first in this round of the event loop.
    if (this.#startedMs === 0) {
      this.#loop.afterEvents(() => {
        this.#startedMs = 0;
      });
    }
    const startedAt = this.#loop.nowMs();
    const isOver = this.#perform(job, startedAt + startMs - this.#startedMs);
    this.#startedMs += Math.max(this.#loop.nowMs() - startedAt, Number.EPSILON);
    return isOver;
  }

  #add(tenantId: string, job: Job): void {
    let tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) {
      tenant = { id: tenantId, jobs: [], lateJobs: [], turns: 0 };
      this.#tenants.set(tenantId, tenant);
      this.#turns.push(tenant);
    }
    (job.isLate ? tenant.lateJobs : tenant.jobs).push(job);
    if (!this.#isScheduled) this.#schedule(0);
  }

  #schedule(sliceLengthMs: number): void {
    this.#isScheduled = true;
    const activeBefore = this.#loop.activeMs();
    const next = () => {
      if (this.#loop.activeMs() - activeBefore > othersMs) this.#othersActiveAt = this.#loop.nowMs();
      this.#isScheduled = false;
      this.#runSlice();
    };
    const areOthersActive = this.#loop.nowMs() - this.#othersActiveAt < recentMs;
    if (sliceLengthMs > 0 && areOthersActive && !this.#isNextAlone())
      this.#loop.after(Math.max(1, sliceLengthMs * restShare), next);
    else this.#loop.afterEvents(next);
  }

  /** Whether no other tenant sends requests. The activity is then that of the work itself, such as its statements. */
  #isNextAlone(): boolean {
    const [next] = this.#turns;
    return next === undefined || this.#usage.isAlone(next.id);
  }

  #runSlice(): void {
    const startedAt = this.#loop.nowMs();
    const endsAt = startedAt + sliceMs;
    this.#isRunning = true;
    let tenant = this.#turns.shift();
    while (tenant !== undefined) {
      this.#takeTurn(tenant, endsAt);
      if (tenant.jobs.length + tenant.lateJobs.length > 0) this.#turns.push(tenant);
      else this.#tenants.delete(tenant.id);
      tenant = this.#loop.nowMs() < endsAt ? this.#turns.shift() : undefined;
    }
    this.#isRunning = false;
    if (this.#turns.length > 0) this.#schedule(this.#loop.nowMs() - startedAt);
  }

  #takeTurn(tenant: Tenant, endsAt: number): void {
    tenant.turns += 1;
    const isLateTurn = tenant.jobs.length === 0 || tenant.turns % turnsBetweenLate === 0;
    const jobs = isLateTurn && tenant.lateJobs.length > 0 ? tenant.lateJobs : tenant.jobs;
    const job = jobs.shift();
    if (job !== undefined && !this.#perform(job, endsAt)) jobs.push(job);
  }

  /** @returns whether the job is over */
  #perform(job: Job, endsAt: number): boolean {
    const startedAt = this.#loop.nowMs();
    let units = 0;
    let unread = 0;
    let yields = 0;
    try {
      while (units < unitsInATurn) {
        const step = job.work.next();
        if (step.done === true) {
          job.settle({ result: step.value });
          return true;
        }
        job.limits?.spend(step.value);
        job.unitsLeft -= step.value;
        if (job.unitsLeft <= 0) {
          job.settle({ stopped: true });
          return true;
        }
        units += step.value;
        unread += step.value;
        yields += 1;
        if (unread < unitsBetweenReadings && yields < yieldsBetweenReadings) continue;
        if (this.#loop.nowMs() >= endsAt) break;
        unread = 0;
        yields = 0;
      }
      return false;
    } catch (error) {
      job.fail(error);
      return true;
    } finally {
      this.#usage.charge(job.tenantId, this.#loop.nowMs() - startedAt);
    }
  }
}

function resultOf<Result>(outcome: Outcome<Result>): Result {
  if ("stopped" in outcome) throw new Error("work without a bound was stopped");
  return outcome.result;
}
