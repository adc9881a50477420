import type { Change } from "../change.ts";
import type { Transaction } from "../db/database.ts";

/** A transaction inside one tenant. Row-level security hides the rows of all other tenants. */
export interface TenantTx extends Transaction {
  readonly tenantId: string;
}

/** A transaction of a command. It stores its recorded changes in the audit record and the outbox. */
export interface CommandTx extends TenantTx {
  record(change: Change): void;
}
