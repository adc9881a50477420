import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface ExampleUser {
  readonly id: string;
  readonly email: string;
  /** The title among the user's attributes; empty if there is none. */
  readonly title: string;
}

const select = statement<ExampleUser, [tenantId: string, emails: readonly string[]]>(
  "demo_sign_in.users",
  `SELECT item.id, item.email, coalesce(item.attributes->>'title', '') AS title FROM users AS item
   WHERE item.tenant_id = $1 AND item.email = ANY ($2::text[]) AND item.status = 'active'
   ORDER BY array_position($2::text[], item.email)`,
);

/** The active users with these addresses, in the order of the addresses. */
export function findUsersByEmail(tx: TenantTx, emails: readonly string[]): Promise<ExampleUser[]> {
  return tx.query(select, tx.tenantId, emails);
}
