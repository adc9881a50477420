import { type Statement, statement } from "../../platform/db/statement.ts";
import type { ReferencedNoun } from "../../platform/record-references.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

type SelectExisting = Statement<{ id: string }, [tenantId: string, ids: readonly string[]]>;

/** FOR KEY SHARE prevents the deletion of the records before the transaction that refers to them ends. */
function selectExisting(table: string): SelectExisting {
  return statement(
    `${table}.existing`,
    `SELECT id FROM ${table} WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) FOR KEY SHARE`,
  );
}

const statements: Readonly<Record<ReferencedNoun, SelectExisting>> = {
  "admission-rule": selectExisting("admission_rules"),
  device: selectExisting("devices"),
  gateway: selectExisting("gateways"),
  group: selectExisting("groups"),
  protocol: selectExisting("protocols"),
  resource: selectExisting("resources"),
  user: selectExisting("users"),
};

/** The ids that records of the tenant have. These records cannot be deleted before the transaction ends. */
export async function existingRecords(
  tx: TenantTx,
  noun: ReferencedNoun,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  return new Set((await tx.query(statements[noun], tx.tenantId, ids)).map(({ id }) => id));
}
