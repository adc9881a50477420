/** The enforcement states of gateways, as every replica can read them. */
import { statement } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";

export interface SyncRow {
  readonly id: string;
  /** Null before the first link. */
  readonly wanted_root: string | null;
  readonly wanted_generation: number | null;
  readonly wanted_since: string | null;
  readonly sent_root: string | null;
  readonly sent_generation: number | null;
  readonly sent_at: string | null;
  readonly applied_root: string | null;
  readonly applied_generation: number | null;
  readonly applied_at: string | null;
  readonly applied_expires_at: string | null;
  readonly error: string | null;
  /** The warnings of the last heartbeat. */
  readonly warnings: readonly string[] | null;
  readonly last_heartbeat: string | null;
  readonly disconnected_at: string | null;
  /** The generation up to which its replica has sent the desired state; null if no replica holds the link. */
  readonly told_generation: number | null;
  readonly told_at: string | null;
}

const select = `SELECT item.id, link.wanted_root, link.wanted_generation, link.wanted_since, link.sent_root, link.sent_generation,
    link.sent_at, link.applied_root, link.applied_generation, link.applied_at, link.applied_expires_at, link.error, link.warnings,
    link.last_heartbeat, link.disconnected_at, replica.generation AS told_generation, replica.updated_at AS told_at
  FROM gateways AS item
  LEFT JOIN gateway_links AS link ON link.tenant_id = item.tenant_id AND link.gateway_id = item.id
  LEFT JOIN gateway_link_replicas AS replica
    ON replica.tenant_id = item.tenant_id AND replica.replica_id = link.replica_id
  WHERE item.tenant_id = $1`;
const selectAll = statement<SyncRow, [tenantId: string]>("gateways.sync_all", `${select} ORDER BY item.id`);
const selectOne = statement<SyncRow, [tenantId: string, id: string]>("gateways.sync", `${select} AND item.id = $2`);

export function readSyncOfAll(tx: TenantTx): Promise<SyncRow[]> {
  return tx.query(selectAll, tx.tenantId);
}

export async function readSync(tx: TenantTx, id: string): Promise<SyncRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}

/** The most changes of a request that are examined one by one. A larger request concerns every serving gateway. */
const examinedChanges = 200;
const uuids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

interface ChangeRow {
  readonly generation: number;
  /** The target's id, and the record before and after the change. */
  readonly content: string;
  /** Whether the content names every resource and gateway of the change by its id. */
  readonly is_local: boolean;
}

// Whole records have a time of creation. Applied documents store names and parts of records, and a new order stores no
// resources. A policy that loses a deleted resource names it.
const selectChanges = statement<ChangeRow, [tenantId: string, requestId: string, limit: number]>(
  "gateways.changes_of_request",
  `SELECT generation, concat(target_id, ' ', before, ' ', after) AS content,
     target_type = 'gateway' OR (target_type IN ('resource', 'policy')
       AND (
         (before IS NULL OR before->'createdAt' IS NOT NULL) AND (after IS NULL OR after->'createdAt' IS NOT NULL)
         OR coalesce(before->'resource' IS NOT NULL, false)
       )
       AND NOT coalesce(before->>'allResources' = 'true' OR before->>'type' = 'SITETOSITE', false)
       AND NOT coalesce(after->>'allResources' = 'true' OR after->>'type' = 'SITETOSITE', false)) AS is_local
   FROM audit_events WHERE tenant_id = $1 AND request_id = $2 ORDER BY position LIMIT $3`,
);
/** Gateways with resources, or named by policies; and all gateways if traffic between sites is allowed. */
const selectServing = statement<{ id: string; resource_ids: string[] | null }, [tenantId: string]>(
  "gateways.serving",
  `SELECT item.id, array_agg(served.resource_id::text) FILTER (WHERE served.resource_id IS NOT NULL) AS resource_ids
   FROM gateways AS item
   LEFT JOIN resource_gateways AS served ON served.tenant_id = item.tenant_id AND served.gateway_id = item.id
   WHERE item.tenant_id = $1
   GROUP BY item.id
   HAVING count(served.resource_id) > 0
     OR EXISTS (SELECT FROM policy_gateways AS named WHERE named.tenant_id = $1 AND named.gateway_id = item.id)
     OR EXISTS (SELECT FROM policies WHERE tenant_id = $1 AND type = 'SITETOSITE' AND active)`,
);
const selectIds = statement<{ id: string }, [tenantId: string]>(
  "gateways.ids",
  "SELECT id FROM gateways WHERE tenant_id = $1",
);

/** The part of a tenant that a request changed, as far as it concerns gateways. */
export interface ScopeOfRequest {
  /** The tenant's generation after the change; undefined if the request changed nothing. */
  readonly generation: number | undefined;
  /** Gateways whose desired configuration the change can affect. */
  readonly gatewayIds: ReadonlySet<string>;
  /** Whether it can affect any configuration, also the last one of a gateway that has no resources any more. */
  readonly isGeneral: boolean;
}

/** The gateways that a request can concern: too many rather than too few. */
export async function readScopeOfRequest(tx: TenantTx, requestId: string): Promise<ScopeOfRequest> {
  const [changes, serving, all] = await Promise.all([
    tx.query(selectChanges, tx.tenantId, requestId, examinedChanges + 1),
    tx.query(selectServing, tx.tenantId),
    tx.query(selectIds, tx.tenantId),
  ]);
  const generation = changes[0]?.generation;
  const isLocal = changes.length <= examinedChanges && changes.every(({ is_local: isLocal }) => isLocal);
  const isGeneral = generation === undefined || !isLocal;
  const named = new Set(changes.flatMap(({ content }) => idsIn(content)));
  const served = serving.filter(({ resource_ids: ids }) => isGeneral || ids?.some((id) => named.has(id)) === true);
  const ids = [...all.filter(({ id }) => named.has(id)), ...served].map(({ id }) => id);
  return { generation, gatewayIds: new Set(ids), isGeneral };
}

function idsIn(content: string): readonly string[] {
  return content.match(uuids) ?? [];
}
