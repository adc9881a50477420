import { AppError } from "../app-error.ts";
import type { Clock } from "../clock.ts";
import type { WorkLimits } from "../concurrency/fair-queue.ts";

/** Limits of evaluation, in rule-cost units of about 20 ns. */
export interface EvaluationLimits {
  readonly unitsPerRequest: number;
  /** The sustained rate of one tenant on one replica. */
  readonly unitsPerSecond: number;
  /** The units that a tenant can save up. */
  readonly burst: number;
  /** The effect of a command that costs more is computed after the commit. */
  readonly unitsBeforeCommit: number;
}

/** A request can use 5 seconds of processor time, a tenant half of a processor, and a transaction 40 ms. */
export const evaluationLimits: EvaluationLimits = {
  unitsPerRequest: 250_000_000,
  unitsPerSecond: 25_000_000,
  burst: 250_000_000,
  unitsBeforeCommit: 2_000_000,
};

interface Account {
  /** Negative while its owner is in debt: the cost of a request is known only afterwards. */
  units: number;
  /** Time of `clock.elapsedMs()`. */
  updatedAt: number;
}

/** The number of tenants and people after which full accounts are dropped. */
const maxAccounts = 10_000;

/** Counts the evaluation of requests and tenants on this replica. */
export class EvaluationBudgets {
  readonly #limits: EvaluationLimits;
  readonly #clock: Clock;
  readonly #accounts = new Map<string, Account>();

  constructor(clock: Clock, limits: EvaluationLimits = evaluationLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Opens the budget of one request.
   *
   * @param subject what is evaluated, as the subject of a sentence: "The decisions of this batch"
   * @throws AppError evaluation_rate_exceeded
   */
  open(tenantId: string, subject: string): WorkLimits {
    return this.#open(tenantId, subject, 1);
  }

  /**
   * Opens the budget of one request of a person without permissions. A person has a tenth of a tenant's rate.
   *
   * @throws AppError evaluation_rate_exceeded
   */
  openForPerson(tenantId: string, userId: string, subject: string): WorkLimits {
    return this.#open(`${tenantId} ${userId}`, subject, 10);
  }

  /** @param weight the units of the account that one unit of evaluation costs */
  #open(owner: string, subject: string, weight: number): WorkLimits {
    const { unitsPerRequest, unitsPerSecond } = this.#limits;
    const account = this.#account(owner);
    if (account.units <= 0) throw this.#rateExceeded(account);
    let left = unitsPerRequest;
    return {
      spend: (units) => {
        left -= units;
        if (left < 0) {
          throw new AppError("evaluation_too_expensive", {
            detail: `${subject} cost more than ${grouped(unitsPerRequest)} units of evaluation, the limit of a request. Ask about fewer records, or simplify the admission rules.`,
          });
        }
        account.units -= units * weight;
        // Requests that run at the same time may overdraw the account together, but not by more than one request.
        if (account.units < -unitsPerRequest * weight) {
          const current = this.#account(owner);
          if (current.units < -unitsPerRequest * weight - unitsPerSecond / 100) throw this.#rateExceeded(current);
        }
      },
    };
  }

  #rateExceeded({ units }: Account): AppError {
    const { unitsPerSecond } = this.#limits;
    return new AppError("evaluation_rate_exceeded", {
      detail: `The evaluation of ${grouped(unitsPerSecond)} units a second is used up. Wait for Retry-After seconds, or simplify the admission rules.`,
      retryAfterSeconds: Math.max(1, Math.ceil((1 - units) / unitsPerSecond)),
    });
  }

  /** The account with the units that it earned since its last use. */
  #account(owner: string): Account {
    const { unitsPerSecond, burst } = this.#limits;
    const now = this.#clock.elapsedMs();
    let account = this.#accounts.get(owner);
    if (account === undefined) {
      if (this.#accounts.size >= maxAccounts) this.#dropFull(now);
      account = { units: burst, updatedAt: now };
      this.#accounts.set(owner, account);
    }
    account.units = Math.min(burst, account.units + ((now - account.updatedAt) * unitsPerSecond) / 1_000);
    account.updatedAt = now;
    return account;
  }

  #dropFull(now: number): void {
    const { unitsPerSecond, burst } = this.#limits;
    for (const [owner, { units, updatedAt }] of this.#accounts) {
      if (units + ((now - updatedAt) * unitsPerSecond) / 1_000 >= burst) this.#accounts.delete(owner);
    }
  }
}

/** A whole number with commas between thousands. The first `toLocaleString` of a process loads tables for 15 ms. */
function grouped(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}
