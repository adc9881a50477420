import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

const selectKnown = statement<{ id: string }, [tenantId: string, ids: readonly string[]]>(
  "gateways.known",
  // FOR KEY SHARE: what was found cannot be deleted before the transaction that refers to it ends.
  "SELECT id FROM gateways WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) FOR KEY SHARE",
);

/** Which of the ids are gateways of the tenant. They cannot be deleted before the transaction ends. */
export async function knownGateways(tx: TenantTx, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  return new Set((await tx.query(selectKnown, tx.tenantId, ids)).map(({ id }) => id));
}
