/** Several commands of one caller in one transaction, each of which sees the changes of the previous ones. */
import type { ErrorCode } from "@gatehouse/contract/errors";
import type { Work } from "@gatehouse/policy/work";
import { AppError } from "./app-error.ts";
import { type Change, type Origin, type RecordedChange, requireReadableName } from "./change.ts";
import type { Clock } from "./clock.ts";
import type { Database, Transaction } from "./db/database.ts";
import { isStatementTimeout } from "./db/database-errors.ts";
import { checkDeferredConstraints } from "./db/deferred-constraints.queries.ts";
import type { Pauses } from "./db/paused-statements.ts";
import { limitStatements } from "./db/statement-timeout.queries.ts";
import { newId } from "./ids.ts";
import type { Outcome } from "./outcome.ts";
import type { AccessChange, AccessImpact, AccessLedger } from "./tenancy/access-ledger.ts";
import { holdTenant } from "./tenancy/tenant-lock.queries.ts";
import type { CommandTx, TenantTx } from "./tenancy/tenant-tx.ts";

/**
 * Start no further command after holding the tenant lock for this long, in milliseconds. Waiters time out after 15
 * seconds.
 */
const maxHoldMs = 8_000;

export interface BatchOptions {
  readonly tx: TenantTx;
  /** Receives the changes of the commands. */
  readonly recorded: RecordedChange[];
  /** Undefined if none of the commands depends on access or can change it. */
  readonly impact: AccessImpact | undefined;
  readonly clock: Clock;
  /** The error of a command that would start too late. */
  readonly tooLong: ErrorCode;
  /** Whether the batch is rolled back. */
  readonly isDry?: boolean;
}

/** The result of one command of a batch. */
export interface PerformedCommand {
  readonly outcome: Outcome;
  /** The ids of its audit entries. */
  readonly events: readonly string[];
  /** Checks to run after the last command; see `CommandTx.atEnd`. */
  readonly checks: readonly (() => Promise<void>)[];
}

export class CommandBatch {
  readonly #options: BatchOptions;
  readonly #startedAtMs: number;
  #checks: (() => Promise<void>)[] = [];

  /** The caller holds the tenant lock exclusively from here on. */
  constructor(options: BatchOptions) {
    this.#options = options;
    this.#startedAtMs = options.clock.elapsedMs();
  }

  /** Whether nothing of the batch remains. */
  get isDry(): boolean {
    return this.#options.isDry === true;
  }

  /** The transaction of the batch. */
  get tx(): TenantTx {
    return this.#options.tx;
  }

  read<T>(work: (tx: TenantTx) => Promise<T>): Promise<T> {
    return work(this.tx);
  }

  /**
   * Sends statements with a time limit for each: the time for which the batch may still start commands.
   *
   * @throws AppError with the code `tooLong`
   */
  async readInTime<T>(work: (tx: TenantTx) => Promise<T>): Promise<T> {
    const { tx, tooLong } = this.#options;
    this.requireTime();
    const [former] = await limitStatements(tx, `${Math.max(1, Math.round(this.#remainingMs))}ms`);
    try {
      const result = await work(tx);
      if (former !== undefined) await limitStatements(tx, former.former);
      return result;
    } catch (error) {
      if (isStatementTimeout(error)) throw new AppError(tooLong, { cause: error });
      throw error;
    }
  }

  /** @throws AppError with the code `tooLong` if the batch must not start anything more */
  requireTime(): void {
    if (this.#remainingMs < 0) throw new AppError(this.#options.tooLong);
  }

  get #remainingMs(): number {
    return this.#startedAtMs + maxHoldMs - this.#options.clock.elapsedMs();
  }

  /**
   * Performs one operation of the batch.
   *
   * @param work runs the operation, whose commands call `perform`
   */
  async collect(work: () => Promise<Outcome>): Promise<PerformedCommand> {
    const { recorded } = this.#options;
    const first = recorded.length;
    this.#checks = [];
    const outcome = await work();
    return { outcome, events: recorded.slice(first).map(({ id }) => id), checks: this.#checks };
  }

  /** @throws AppError with the code `tooLong`, and the errors of the command */
  async perform(origin: Origin, work: (tx: CommandTx) => Promise<Outcome>): Promise<Outcome> {
    const { tx, recorded } = this.#options;
    this.requireTime();
    const outcome = await work({
      tenantId: tx.tenantId,
      query: tx.query,
      record: (change) => {
        requireReadableName(change, origin);
        recorded.push({ id: newId(), origin, change });
      },
      // The effect of a batch is evaluated after its last command.
      announce: () => undefined,
      // The batch also stores the entries.
      storeEntries: () => undefined,
      atEnd: (check) => this.#checks.push(check),
    });
    // A command that violates a deferred constraint would not have committed.
    await checkDeferredConstraints(tx);
    return outcome;
  }

  /** The ledger for a command of the batch: its previews include the changes of the batch so far. */
  openLedger(): AccessImpact {
    const impact = this.#impact;
    return {
      evaluate: () => Promise.reject(new Error("only the whole batch is evaluated")),
      begin: () => Promise.reject(new Error("only the whole batch is evaluated")),
      preview: (tx, changes) => impact.preview(tx, [...this.changes, ...changes]),
    };
  }

  /**
   * Reads the data for the access impact of the commands so far.
   *
   * @returns computes the impact in slices, after the transaction has ended
   */
  readImpact(): Promise<Work<AccessChange>> {
    return this.#impact.preview(this.tx, this.changes);
  }

  get #impact(): AccessImpact {
    const { impact } = this.#options;
    if (impact === undefined) throw new Error("the batch was started without its access ledger");
    return impact;
  }

  /** The changes of the commands so far. */
  get changes(): readonly Change[] {
    return this.#options.recorded.map(({ change }) => change);
  }
}

/**
 * Runs a batch that is rolled back, to find out its effect. It locks the tenant exclusively, so that commands that lock
 * records in any order neither deadlock with others nor see their changes.
 *
 * @throws AppError database_unavailable
 */
export async function runDry<T>(
  { database, ledger, clock }: { readonly database: Database; readonly ledger: AccessLedger; readonly clock: Clock },
  tenantId: string,
  work: (batch: CommandBatch) => Promise<T>,
  pauses?: Pauses,
): Promise<T> {
  const impact = await ledger.open(tenantId);
  const dryRun = async (transaction: Transaction) => {
    await holdTenant(transaction, tenantId, true);
    const tx = { tenantId, query: transaction.query };
    return work(new CommandBatch({ tx, recorded: [], impact, clock, tooLong: "preview_too_long", isDry: true }));
  };
  return database.dryRun({ kind: "tenant", tenantId }, dryRun, pauses);
}
