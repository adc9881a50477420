/** Commands that are performed and then undone, to see what they would do. */
import { AppError } from "./app-error.ts";
import type { Change } from "./change.ts";
import type { Clock } from "./clock.ts";
import type { Database } from "./db/database.ts";
import { checkDeferredConstraints } from "./db/deferred-constraints.queries.ts";
import type { Outcome } from "./outcome.ts";
import type { AccessChange, AccessLedger, LedgerPage } from "./tenancy/access-ledger.ts";
import { holdTenant } from "./tenancy/tenant-lock.queries.ts";
import type { CommandTx, TenantTx } from "./tenancy/tenant-tx.ts";

/** No command is begun when the tenant was held for so long, in milliseconds: others wait, and give up after 15 seconds. */
const mostHeldMs = 8_000;

/** A transaction that commands are performed in one after the other, each seeing what those before it did. */
export class Rehearsal {
  readonly #tx: TenantTx;
  readonly #page: LedgerPage;
  readonly #clock: Clock;
  readonly #startedAtMs: number;
  readonly #changes: Change[] = [];

  constructor(tx: TenantTx, page: LedgerPage, clock: Clock) {
    this.#tx = tx;
    this.#page = page;
    this.#clock = clock;
    this.#startedAtMs = clock.elapsedMs();
  }

  /** The transaction of it all. */
  get tx(): TenantTx {
    return this.#tx;
  }

  read<T>(work: (tx: TenantTx) => Promise<T>): Promise<T> {
    return work(this.#tx);
  }

  /** @throws AppError preview_too_long, and as the command does */
  async perform(work: (tx: CommandTx) => Promise<Outcome>): Promise<Outcome> {
    if (this.#clock.elapsedMs() - this.#startedAtMs > mostHeldMs) throw new AppError("preview_too_long");
    const { tenantId, query } = this.#tx;
    const outcome = await work({ tenantId, query, record: (change) => this.#changes.push(change) });
    // A command that breaks them would not have gone through.
    await checkDeferredConstraints(this.#tx);
    return outcome;
  }

  /**
   * Reads what the commands so far do to access.
   *
   * @returns what works it out, when the transaction is over
   */
  look(): Promise<() => AccessChange> {
    return this.#page.look(this.#tx, this.#changes);
  }
}

/**
 * Holds the tenant alone, so that commands which lock records in whatever order neither wait for others in a circle, nor meet
 * what others change meanwhile.
 *
 * @throws AppError database_unavailable
 */
export async function rehearse<T>(
  { database, ledger, clock }: { readonly database: Database; readonly ledger: AccessLedger; readonly clock: Clock },
  tenantId: string,
  work: (rehearsal: Rehearsal) => Promise<T>,
): Promise<T> {
  const page = await ledger.open(tenantId);
  return database.rehearsal({ kind: "tenant", tenantId }, async (transaction) => {
    await holdTenant(transaction, tenantId, true);
    return work(new Rehearsal({ tenantId, query: transaction.query }, page, clock));
  });
}
