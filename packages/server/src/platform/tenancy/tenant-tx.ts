import type { Change } from "../change.ts";
import type { Transaction } from "../db/database.ts";

/** A transaction inside one tenant. Row-level security hides the rows of all other tenants. */
export interface TenantTx extends Transaction {
  readonly tenantId: string;
}

/** A record that a command creates. */
export type CreatedRecord = Pick<Change, "type" | "id">;

/** A transaction of a command. It stores its recorded changes in the audit record and the outbox. */
export interface CommandTx extends TenantTx {
  record(change: Change): void;
  /**
   * Announces records that the command creates and is going to record, after it has sent its last statement. The
   * queries for their effect then share a round trip with that statement. A command that announces must announce all
   * its changes.
   */
  announce(created: readonly CreatedRecord[]): void;
  /**
   * Starts to store the audit entries of all recorded changes, while the command sends further statements. Only for a
   * command that runs alone in its tenant, and that has recorded all of its changes: the entries lock the generation.
   */
  storeEntries(): void;
  /**
   * Runs a check after all changes of the transaction, before the commit. In a change set, these include the changes
   * after this command's.
   *
   * @param check throws an AppError to refuse the transaction
   */
  atEnd(check: () => Promise<void>): void;
}
