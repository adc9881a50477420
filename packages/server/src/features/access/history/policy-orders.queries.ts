/** Reads the stored orders of policies, and the entries that explain them. */
import { statement } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";

/** The order of the policies of a type after a command. */
export interface StoredOrder {
  readonly type: string;
  readonly generation: number;
  readonly ids: readonly string[];
}

/** An order can list thousands of policies. */
const ordersAtOnce = 20;

const selectOrders = statement<StoredOrder, [tenantId: string, type: string, generation: number]>(
  "access.stored_orders",
  `SELECT record AS type, generation, facts AS ids FROM access_history
   WHERE tenant_id = $1 AND kind = 'policy-order' AND (record, generation) > ($2, $3::bigint)
   ORDER BY record, generation LIMIT ${ordersAtOnce}`,
);

const selectCreations = statement<{ readonly id: string; readonly generation: number }, [tenantId: string]>(
  "access.policy_creations",
  `SELECT record AS id, min(first_generation) AS generation FROM access_history
   WHERE tenant_id = $1 AND kind = 'policy' GROUP BY record`,
);

// Entries of documents contain the positions of moved policies only. Such a position can be unchanged, if policies
// before the moved one were deleted.
const selectMoves = statement<
  { readonly id: string; readonly generation: number },
  [tenantId: string, generations: readonly number[]]
>(
  "access.policy_moves",
  `SELECT DISTINCT target_id AS id, generation FROM audit_events
   WHERE tenant_id = $1 AND generation = ANY ($2::bigint[]) AND target_type = 'policy'
     AND before IS NOT NULL AND after IS NOT NULL
     AND (before ->> 'order' IS DISTINCT FROM after ->> 'order'
       OR after ->> 'order' IS NOT NULL AND after ->> 'createdAt' IS NULL)`,
);

const selectPositions = statement<{ readonly id: string; readonly order: number }, [tenantId: string]>(
  "access.policy_positions",
  'SELECT id, "order" FROM policies WHERE tenant_id = $1',
);

/** The stored orders after a given one, by type and generation. */
export function readStoredOrders(
  tx: TenantTx,
  after: Pick<StoredOrder, "type" | "generation">,
): Promise<readonly StoredOrder[]> {
  return tx.query(selectOrders, tx.tenantId, after.type, after.generation);
}

/** The generation of the creation of each policy, by id. Includes policies that were deleted later. */
export async function readPolicyCreations(tx: TenantTx): Promise<ReadonlyMap<string, number>> {
  return new Map((await tx.query(selectCreations, tx.tenantId)).map(({ id, generation }) => [id, generation]));
}

/** The policies that entries moved, by generation. */
export async function readPolicyMoves(
  tx: TenantTx,
  generations: readonly number[],
): Promise<ReadonlyMap<number, ReadonlySet<string>>> {
  const moves = new Map(generations.map((generation) => [generation, new Set<string>()]));
  for (const { id, generation } of await tx.query(selectMoves, tx.tenantId, generations)) {
    moves.get(generation)?.add(id);
  }
  return moves;
}

/** The position of each policy, by id. */
export async function readPolicyPositions(tx: TenantTx): Promise<ReadonlyMap<string, number>> {
  return new Map((await tx.query(selectPositions, tx.tenantId)).map(({ id, order }) => [id, order]));
}
