/** The order of a tenant's policies: 1, 2, 3 … within each type, without gaps, whoever changes it at the same moment. */
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

// An advisory lock, because there may be no row yet to lock: a type's first policies are created side by side too.
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
const place = statement<never, [tenantId: string, at: Date, ids: readonly string[], orders: readonly number[]]>(
  "policies.place",
  `UPDATE policies SET "order" = placed.place, version = version + 1, updated_at = $2
   FROM unnest($3::uuid[], $4::integer[]) AS placed (id, place)
   WHERE policies.tenant_id = $1 AND policies.id = placed.id`,
);

/**
 * Waits until nobody else is changing the order of the tenant's policies, and keeps others from it until the transaction
 * ends. Taken before any policy is locked, so that those who lock many cannot wait for each other.
 */
export async function lockPolicyOrder(tx: TenantTx): Promise<void> {
  await tx.query(lock, tx.tenantId);
}

/** The policies of a type in their order, kept from changing until the transaction ends. The order must be locked. */
export function lockPoliciesOfType(tx: TenantTx, type: PolicyType): Promise<PlacedPolicy[]> {
  return tx.query(selectOrder, tx.tenantId, type);
}

/** Moves up what comes after a place that has become free. It is nobody's change: versions stay. */
export async function closeOrderGap(
  tx: TenantTx,
  _granted: Granted<"policies:write">,
  type: PolicyType,
  order: number,
): Promise<void> {
  await tx.query(closeGap, tx.tenantId, type, order);
}

/** Gives policies new places. */
export async function placePolicies(
  tx: TenantTx,
  _granted: Granted<"policies:write">,
  placed: readonly { readonly id: string; readonly order: number }[],
  at: Date,
): Promise<void> {
  const ids = placed.map(({ id }) => id);
  const orders = placed.map(({ order }) => order);
  await tx.query(place, tx.tenantId, at, ids, orders);
}
