/** The order of a tenant's policies: 1, 2, 3 … within each type, without gaps, also under concurrent changes. */
import type { PolicyType } from "@gatehouse/contract/records/policy";
import type { Granted } from "../../platform/authorization/granted.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** A policy in the order of its type. */
export interface PlacedPolicy {
  readonly id: string;
  readonly name: string;
  readonly order: number;
  readonly is_default: boolean;
}

// An advisory lock, because the first policies of a type have no row to lock yet.
const lock = statement<never, [tenantId: string]>(
  "policies.lock_order",
  "SELECT pg_advisory_xact_lock(hashtextextended('order of policies, tenant ' || $1::text, 0))",
);
const selectOrder = statement<PlacedPolicy, [tenantId: string, type: PolicyType]>(
  "policies.order",
  `SELECT id, name, "order", is_default FROM policies WHERE tenant_id = $1 AND type = $2 ORDER BY "order" FOR UPDATE`,
);
const closeGap = statement<never, [tenantId: string, type: PolicyType, order: number]>(
  "policies.close_gap",
  `UPDATE policies SET "order" = "order" - 1 WHERE tenant_id = $1 AND type = $2 AND "order" > $3`,
);
const place = statement<never, [tenantId: string, ids: readonly string[], orders: readonly number[], at: Date | null]>(
  "policies.place",
  `UPDATE policies AS item
   SET "order" = placed.position, version = item.version + CASE WHEN $4::timestamptz IS NULL THEN 0 ELSE 1 END,
       updated_at = coalesce($4, item.updated_at)
   FROM unnest($2::uuid[], $3::integer[]) AS placed (id, position)
   WHERE item.tenant_id = $1 AND item.id = placed.id AND item."order" <> placed.position`,
);

/**
 * Locks the order of the tenant's policies until the transaction ends. Commands take this lock before they lock a
 * policy, so that commands which lock many policies cannot deadlock.
 */
export async function lockPolicyOrder(tx: TenantTx): Promise<void> {
  await tx.query(lock, tx.tenantId);
}

/** Reads and locks the policies of a type, in their order. The order must be locked. */
export function lockPoliciesOfType(tx: TenantTx, type: PolicyType): Promise<PlacedPolicy[]> {
  return tx.query(selectOrder, tx.tenantId, type);
}

/** Moves the policies after a free position up by one. Their versions do not change. */
export async function closeOrderGap(
  tx: TenantTx,
  _granted: Granted<"policies:write">,
  type: PolicyType,
  order: number,
): Promise<void> {
  await tx.query(closeGap, tx.tenantId, type, order);
}

/**
 * Moves policies to new positions.
 *
 * @param at when the policies changed; null if they only make room, which does not change their versions
 */
export async function placePolicies(
  tx: TenantTx,
  _granted: Granted<"policies:write">,
  placed: readonly { readonly id: string; readonly order: number }[],
  at: Date | null,
): Promise<void> {
  const ids = placed.map(({ id }) => id);
  const orders = placed.map(({ order }) => order);
  await tx.query(place, tx.tenantId, ids, orders, at);
}
