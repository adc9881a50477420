import type { Change } from "../change.ts";
import type { Transaction } from "../db/database.ts";

/** A transaction inside one tenant: row-level security shows it that tenant's rows and no others. */
export interface TenantTx extends Transaction {
  readonly tenantId: string;
}

/** A transaction of a command: what is recorded here goes into the audit record and the outbox with it. */
export interface CommandTx extends TenantTx {
  record(change: Change): void;
}
