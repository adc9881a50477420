/** Dry runs: commands that are performed and rolled back to find out their effect. */
import { AppError } from "./app-error.ts";
import { type Change, requireReadableName } from "./change.ts";
import type { Clock } from "./clock.ts";
import type { Database } from "./db/database.ts";
import { checkDeferredConstraints } from "./db/deferred-constraints.queries.ts";
import type { Outcome } from "./outcome.ts";
import type { AccessChange, AccessImpact, AccessLedger } from "./tenancy/access-ledger.ts";
import { holdTenant } from "./tenancy/tenant-lock.queries.ts";
import type { CommandTx, TenantTx } from "./tenancy/tenant-tx.ts";

/**
 * Start no further command after holding the tenant lock for this long, in milliseconds. Waiters time out after 15
 * seconds.
 */
const maxHoldMs = 8_000;

/** A transaction in which commands run one after another, each seeing the changes of the previous ones. */
export class DryRun {
  readonly #tx: TenantTx;
  readonly #page: AccessImpact;
  readonly #clock: Clock;
  readonly #startedAtMs: number;
  readonly #changes: Change[] = [];

  constructor(tx: TenantTx, page: AccessImpact, clock: Clock) {
    this.#tx = tx;
    this.#page = page;
    this.#clock = clock;
    this.#startedAtMs = clock.elapsedMs();
  }

  /** The transaction of the dry run. */
  get tx(): TenantTx {
    return this.#tx;
  }

  read<T>(work: (tx: TenantTx) => Promise<T>): Promise<T> {
    return work(this.#tx);
  }

  /** @throws AppError preview_too_long, and the errors of the command */
  async perform(work: (tx: CommandTx) => Promise<Outcome>): Promise<Outcome> {
    if (this.#clock.elapsedMs() - this.#startedAtMs > maxHoldMs) throw new AppError("preview_too_long");
    const { tenantId, query } = this.#tx;
    const record = (change: Change) => {
      requireReadableName(change);
      this.#changes.push(change);
    };
    const outcome = await work({ tenantId, query, record });
    // A command that violates a deferred constraint would not have committed.
    await checkDeferredConstraints(this.#tx);
    return outcome;
  }

  /**
   * Reads the data for the access impact of the commands so far.
   *
   * @returns a function that computes the impact after the transaction has ended
   */
  look(): Promise<() => AccessChange> {
    return this.#page.preview(this.#tx, this.#changes);
  }
}

/**
 * Locks the tenant exclusively, so that commands that lock records in any order neither deadlock with others nor see
 * their changes.
 *
 * @throws AppError database_unavailable
 */
export async function runDry<T>(
  { database, ledger, clock }: { readonly database: Database; readonly ledger: AccessLedger; readonly clock: Clock },
  tenantId: string,
  work: (dryRun: DryRun) => Promise<T>,
): Promise<T> {
  const page = await ledger.open(tenantId);
  return database.dryRun({ kind: "tenant", tenantId }, async (transaction) => {
    await holdTenant(transaction, tenantId, true);
    return work(new DryRun({ tenantId, query: transaction.query }, page, clock));
  });
}
