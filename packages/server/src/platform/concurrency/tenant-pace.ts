import { AppError } from "../app-error.ts";
import type { EventLoop } from "./fair-queue.ts";
import { RequestPauses } from "./request-pauses.ts";

/** The charged time that a tenant may use per elapsed time without a pause. Two connections in use count twice. */
const allowedShare = 0.5;

/**
 * The charge for a connection while the event loop is active, relative to the charge while it waits: answers may have
 * arrived, and only wait for the event loop.
 */
const activeLoopShare = 0.1;

/**
 * The most that a use of a connection of up to `longUseMs` is charged, in milliseconds. Such a use mostly waits for
 * processors, disks and other tenants.
 */
const mostShortUseMs = 10;

/** Longer uses of a connection are also charged for the time beyond this one, in milliseconds. */
const longUseMs = 100;

/**
 * The uses at the same time that are charged as short ones. Others are charged in full: a tenant must not hold its
 * whole share of the connections for free.
 */
const shortUsesAtOnce = 2;

/**
 * The charge for reading a body, relative to the time: receiving it, collecting its garbage and refusing it take about
 * as long.
 */
const bodyFactor = 2;

/** The minimum debt for a pause, in milliseconds: timers are not more precise. */
const leastDebtMs = 5;

/** The maximum debt, in milliseconds. It bounds the pause of a request to a second. */
const mostDebtMs = 500;

/** How long a tenant counts as active after a request, in milliseconds. */
const activeMs = 100;

/** The time constant with which the usage of a tenant decays, in milliseconds. */
const memoryMs = 1_000;

/** The part of the time for which the event loop must be active to count as busy. */
const busyShare = 0.7;

/** Only a tenant whose usage exceeds the mean by this factor pauses: equal tenants differ by chance. */
const tolerance = 1.4;

/** Only a tenant with this part of the highest usage pauses: many idle tenants lower the mean. */
const partOfHighest = 0.5;

/** The number of long requests of a tenant that can wait. */
const mostWaiting = 20;

/** How long the requests of an operation are long after a large answer, in milliseconds. */
const largeMs = 10_000;

/** The time between two surveys of all tenants, in milliseconds. */
const surveyMs = 20;

/** The weight of the latest charge in the mean cost of a tenant's work. */
const weight = 0.2;

interface Account {
  /** Charged time that the allowed share has not covered yet, in milliseconds. */
  debtMs: number;
  /** Recently charged time, in milliseconds. */
  usedMs: number;
  /** The mean charge of one piece of work, in milliseconds. */
  meanMs: number;
  /** The time up to which `debtMs` and `usedMs` are computed. */
  updatedAt: number;
  /** The time of the last request. */
  seenAt: number;
  /** The connections in use. */
  uses: number;
  /** Whether the last survey counted the tenant as active. */
  isActive: boolean;
  /** The number of long requests that have started and not ended. */
  longRequests: number;
  /** The long requests that wait, in order. */
  readonly waiting: Waiting[];
  /** The number of long requests that cannot start yet, and whose bodies are being received. */
  arriving: number;
  /** The times until which requests of operations with large answers are long, by the operation. */
  readonly longUntil: Map<string, number>;
}

interface Waiting {
  readonly start: () => void;
}

/**
 * Slows down the tenant that keeps a replica busy. Tenants are charged for the time in which they use database
 * connections, evaluate access, and send bodies that are read. A charge adds to the tenant's debt, which decreases by
 * `allowedShare` of the elapsed time. While the event loop is busy and other tenants are active, a tenant that uses
 * more than the mean slows down: its new requests pause until it has no debt.
 *
 * Requests that can take seconds are charged too late for that. While other tenants are active, such requests of a
 * tenant therefore run one at a time.
 *
 * Cached answers cost nothing, so they never slow down the tenant.
 */
export class TenantPace {
  readonly #loop: Pick<EventLoop, "nowMs" | "activeMs" | "after">;
  readonly #accounts = new Map<string, Account>();
  #surveyedAt = Number.NEGATIVE_INFINITY;
  #activeBefore = 0;
  #activeTenants = 0;
  /** The usage above which a tenant pauses, in milliseconds; infinite if the event loop is not busy. */
  #mostUsedMs = Number.POSITIVE_INFINITY;

  constructor(loop: Pick<EventLoop, "nowMs" | "activeMs" | "after">) {
    this.#loop = loop;
  }

  /** Charges a tenant for work that took this time, in milliseconds. */
  charge(tenantId: string, ms: number): void {
    const account = this.#account(tenantId, this.#loop.nowMs());
    account.debtMs = Math.min(mostDebtMs, account.debtMs + ms);
    account.usedMs += ms;
    account.meanMs += (ms - account.meanMs) * weight;
  }

  /** Charges a tenant for parsing or checking a body, even if the body is invalid. */
  readBody<Result>(tenantId: string, read: () => Result): Result {
    const startedAt = this.#loop.nowMs();
    try {
      return read();
    } finally {
      this.charge(tenantId, (this.#loop.nowMs() - startedAt) * bodyFactor);
    }
  }

  /**
   * Starts to measure the use of a database connection.
   *
   * @returns ends the use, and charges the tenant for it. `pausedMs` is the time in which nothing ran on the connection
   */
  startUse(tenantId: string): (pausedMs: number) => void {
    const [startedAt, activeBefore] = [this.#loop.nowMs(), this.#loop.activeMs()];
    const account = this.#account(tenantId, startedAt);
    account.uses += 1;
    const isFull = account.uses > shortUsesAtOnce;
    return (pausedMs) => {
      account.uses -= 1;
      const elapsedMs = this.#loop.nowMs() - startedAt;
      const activeShare = elapsedMs > 0 ? (this.#loop.activeMs() - activeBefore) / elapsedMs : 0;
      const usedMs = Math.max(0, elapsedMs - pausedMs);
      const ms = usedMs * (1 - activeShare * (1 - activeLoopShare));
      this.charge(tenantId, isFull ? ms : Math.min(ms, mostShortUseMs) + Math.max(0, ms - longUseMs));
    };
  }

  /** Whether no other tenant has sent requests recently. */
  isAlone(tenantId: string): boolean {
    this.#surveyIfDue(this.#loop.nowMs());
    const account = this.#accounts.get(tenantId);
    return this.#activeTenants === Number(account?.isActive === true);
  }

  /**
   * Records a request. Call this method once for each request, before its work. A long request with a large body has
   * two turns: before its body is parsed, and before its work.
   *
   * @returns a promise to await before the work; undefined if the request need not pause
   */
  turn(tenantId: string): Promise<void> | undefined {
    const account = this.#seen(tenantId);
    if (account.debtMs < leastDebtMs || account.usedMs <= this.#mostUsedMs || this.isAlone(tenantId)) return undefined;
    const pauseMs = account.debtMs / allowedShare;
    // The next request also waits for the expected work of this request.
    const expectedMs = Math.min(account.meanMs, mostDebtMs - account.debtMs);
    account.debtMs += expectedMs;
    return new Promise((resolve) => {
      this.#loop.after(pauseMs, () => {
        account.debtMs = Math.max(0, account.debtMs - expectedMs);
        resolve();
      });
    });
  }

  /** Records a large answer. Requests of this operation count as long for some time, as their answers may be large. */
  answeredLargely(tenantId: string, operation: string): void {
    const now = this.#loop.nowMs();
    this.#account(tenantId, now).longUntil.set(operation, now + largeMs);
  }

  /** Whether an answer of this operation was large recently. */
  mayAnswerLargely(tenantId: string, operation: string): boolean {
    const until = this.#accounts.get(tenantId)?.longUntil.get(operation);
    return until !== undefined && this.#loop.nowMs() < until;
  }

  /**
   * Reserves room for a long request before its body is read, if it cannot start at once.
   *
   * @returns ends the reservation; call it before `longTurn`, and when the request ends. Repeated calls have no effect
   * @throws AppError rate_limited
   */
  reserve(tenantId: string): () => void {
    const account = this.#seen(tenantId);
    if (this.#canStart(tenantId, account)) return () => undefined;
    requireRoom(account);
    account.arriving += 1;
    let isReserved = true;
    return () => {
      if (isReserved) account.arriving -= 1;
      isReserved = false;
    };
  }

  /**
   * Performs a request that can take seconds, when its turn comes, unless the client disconnects first. It pauses
   * between its uses of the database.
   *
   * @param disconnected aborted when the client disconnects
   * @throws AppError rate_limited
   * @throws the reason of `disconnected` if the client disconnected before the start
   * @throws the error of the request
   */
  async longTurn<Result>(
    tenantId: string,
    disconnected: AbortSignal,
    perform: (pauses: RequestPauses) => Promise<Result>,
  ): Promise<Result> {
    disconnected.throwIfAborted();
    const account = this.#seen(tenantId);
    if (!this.#canStart(tenantId, account)) requireRoom(account);
    const started = wait(account, disconnected);
    this.#startNext(tenantId, account);
    await started;
    try {
      await this.turn(tenantId);
      disconnected.throwIfAborted();
      return await perform(new RequestPauses(this.#loop, () => this.isAlone(tenantId)));
    } finally {
      account.longRequests -= 1;
      this.#startNext(tenantId, account);
    }
  }

  /** Whether another long request of the tenant can start. */
  #canStart(tenantId: string, account: Account): boolean {
    return account.longRequests === 0 || this.isAlone(tenantId);
  }

  /**
   * Starts the long request that has waited longest. Each arrival and each completion starts only one: otherwise a
   * tenant that is alone for a moment would start all of them.
   */
  #startNext(tenantId: string, account: Account): void {
    if (!this.#canStart(tenantId, account)) return;
    const next = account.waiting.shift();
    if (next === undefined) return;
    account.longRequests += 1;
    next.start();
  }

  /** The account of a tenant that sent a request. */
  #seen(tenantId: string): Account {
    const now = this.#loop.nowMs();
    const account = this.#account(tenantId, now);
    account.seenAt = now;
    this.#surveyIfDue(now);
    return account;
  }

  /** The account with its debt and usage at this time. */
  #account(tenantId: string, now: number): Account {
    let account = this.#accounts.get(tenantId);
    if (account === undefined) {
      account = {
        debtMs: 0,
        usedMs: 0,
        meanMs: 0,
        updatedAt: now,
        seenAt: Number.NEGATIVE_INFINITY,
        uses: 0,
        isActive: false,
        longRequests: 0,
        waiting: [],
        arriving: 0,
        longUntil: new Map(),
      };
      this.#accounts.set(tenantId, account);
    } else update(account, now);
    return account;
  }

  /** Compares all tenants, and drops those that are not active. */
  #surveyIfDue(now: number): void {
    const elapsedMs = now - this.#surveyedAt;
    if (elapsedMs < surveyMs) return;
    const active = this.#loop.activeMs();
    const isBusy = active - this.#activeBefore >= busyShare * elapsedMs;
    this.#activeBefore = active;
    this.#surveyedAt = now;
    this.#activeTenants = 0;
    let [users, usedMs, highestMs] = [0, 0, 0];
    for (const [tenantId, account] of this.#accounts) {
      update(account, now);
      account.isActive = account.longRequests > 0 || now - account.seenAt <= activeMs;
      if (account.isActive) this.#activeTenants += 1;
      for (const [operation, until] of account.longUntil) if (until <= now) account.longUntil.delete(operation);
      if (!account.isActive && account.uses === 0 && account.usedMs < 1 && account.longUntil.size === 0) {
        this.#accounts.delete(tenantId);
        continue;
      }
      users += 1;
      usedMs += account.usedMs;
      highestMs = Math.max(highestMs, account.usedMs);
    }
    const fairMs = Math.max((tolerance * usedMs) / users, partOfHighest * highestMs);
    this.#mostUsedMs = isBusy ? fairMs : Number.POSITIVE_INFINITY;
  }
}

/** Waits until the request starts. Removes it from the queue if the client disconnects first. */
function wait({ waiting }: Account, disconnected: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const entry: Waiting = {
      start: () => {
        disconnected.removeEventListener("abort", leave);
        resolve();
      },
    };
    const leave = () => {
      waiting.splice(waiting.indexOf(entry), 1);
      reject(disconnected.reason);
    };
    disconnected.addEventListener("abort", leave, { once: true });
    waiting.push(entry);
  });
}

/** @throws AppError rate_limited if the queue has no room */
function requireRoom({ waiting, arriving }: Account): void {
  if (waiting.length + arriving >= mostWaiting) throw tooManyWait();
}

function tooManyWait(): AppError {
  return new AppError("rate_limited", {
    detail: `${mostWaiting} requests of this tenant that read or write the whole tenant are already waiting. Send them one at a time.`,
    retryAfterSeconds: 2,
  });
}

function update(account: Account, now: number): void {
  const elapsedMs = now - account.updatedAt;
  if (elapsedMs <= 0) return;
  account.debtMs = Math.max(0, account.debtMs - elapsedMs * allowedShare);
  account.usedMs *= Math.exp(-elapsedMs / memoryMs);
  account.updatedAt = now;
}
