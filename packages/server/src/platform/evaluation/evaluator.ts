import type { Work } from "@gatehouse/policy/work";
import type { Clock } from "../clock.ts";
import { FairQueue, nodeEventLoop, type Outcome, type TenantUsage } from "../concurrency/fair-queue.ts";
import { EvaluationBudgets, type EvaluationLimits, evaluationLimits } from "./evaluation-budgets.ts";

/** Evaluates access for all tenants, in one fair queue. */
export class Evaluator {
  readonly #queue: FairQueue;
  readonly #budgets: EvaluationBudgets;
  /** The effect of a command that costs more is computed after the commit. */
  readonly unitsBeforeCommit: number;

  constructor(clock: Clock, limits: EvaluationLimits = evaluationLimits, usage?: TenantUsage) {
    this.unitsBeforeCommit = limits.unitsBeforeCommit;
    this.#queue = new FairQueue(nodeEventLoop, usage);
    this.#budgets = new EvaluationBudgets(clock, limits);
  }

  /**
   * Evaluates for a request, within the budgets of the request and of its tenant.
   *
   * @param subject what is evaluated, as the subject of a sentence
   * @throws AppError evaluation_too_expensive, evaluation_rate_exceeded
   */
  async answer<Result>(tenantId: string, subject: string, work: Work<Result>): Promise<Result> {
    return this.#queue.run(tenantId, work, this.#budgets.open(tenantId, subject));
  }

  /**
   * Evaluates for a person without permissions, within a budget of the person's own: it cannot use up the tenant's.
   *
   * @throws AppError evaluation_too_expensive, evaluation_rate_exceeded
   */
  async answerPerson<Result>(tenantId: string, userId: string, subject: string, work: Work<Result>): Promise<Result> {
    return this.#queue.run(tenantId, work, this.#budgets.openForPerson(tenantId, userId, subject));
  }

  /** Evaluates what cannot be refused, such as enforced access tests. */
  decide<Result>(tenantId: string, work: Work<Result>): Promise<Result> {
    return this.#queue.run(tenantId, work);
  }

  /** Evaluates in the background. Other evaluations of the tenant come first. */
  decideLate<Result>(tenantId: string, work: Work<Result>): Promise<Result> {
    return this.#queue.runLate(tenantId, work);
  }

  /** Like `decide`, but stops after this many units. */
  decideUpTo<Result>(tenantId: string, work: Work<Result>, units: number): Promise<Outcome<Result>> {
    return this.#queue.runUpTo(tenantId, work, units);
  }
}
