/** Rows that tests of webhooks read or write without the API. */
import { statement } from "../platform/db/statement.ts";
import type { TestServer } from "./test-server.ts";

const selectSecrets = statement<{ ciphertext: Buffer }, [tenantId: string, webhookId: string]>(
  "testing.webhook_secrets",
  "SELECT ciphertext FROM webhook_secrets WHERE tenant_id = $1 AND webhook_id = $2",
);
const countLeft = statement<{ count: number }, [tenantId: string, webhookId: string]>(
  "testing.count_webhook_rows",
  `SELECT (SELECT count(*) FROM webhook_secrets WHERE tenant_id = $1 AND webhook_id = $2)
        + (SELECT count(*) FROM webhook_deliveries WHERE tenant_id = $1 AND webhook_id = $2) AS count`,
);
const insertStale = statement<never, [tenantId: string, webhookId: string, id: string, dueAt: Date | null]>(
  "testing.insert_stale_delivery",
  `INSERT INTO webhook_deliveries (tenant_id, webhook_id, id, created_at, updated_at, event_id, type, status,
                                   next_attempt_at)
   VALUES ($1, $2, $3, now(), now(), gen_random_uuid(), 'user.created',
           CASE WHEN $4::timestamptz IS NULL THEN 'FAILED' ELSE 'PENDING' END, $4)`,
);
const insertEntries = statement<never, [tenantId: string, count: number, size: number]>(
  "testing.insert_entries",
  `WITH bumped AS (
     UPDATE tenant_generations SET generation = generation + 1, event_count = event_count + $2
     WHERE tenant_id = $1 RETURNING generation, event_count)
   INSERT INTO audit_events (tenant_id, id, created_at, generation, position, actor_type, actor_name, operation,
                             target_type, target_id, after, request_id)
   SELECT $1, gen_random_uuid(), now(), bumped.generation, bumped.event_count - $2 + place, 'system', 'Gatehouse', 'test', 'user', gen_random_uuid(),
          json_build_object('name', repeat('a', $3::int)), 'test'
   FROM bumped, generate_series(1, $2) AS place`,
);

const finish = statement<never, [tenantId: string, webhookId: string, status: string, count: number]>(
  "testing.finish_deliveries",
  `UPDATE webhook_deliveries SET status = $3, next_attempt_at = NULL, job_id = NULL, queued_until = NULL
   WHERE tenant_id = $1 AND id IN (
     SELECT id FROM webhook_deliveries WHERE tenant_id = $1 AND webhook_id = $2 AND status = 'PENDING'
     ORDER BY id LIMIT $4)`,
);
const hold = statement<never, [tenantId: string, webhookId: string, until: Date]>(
  "testing.hold_deliveries",
  `UPDATE webhook_deliveries SET job_id = gen_random_uuid(), queued_until = $3
   WHERE tenant_id = $1 AND webhook_id = $2 AND status = 'PENDING'`,
);
const lock = statement<never, [tenantId: string, webhookId: string]>(
  "testing.lock_deliveries",
  "SELECT FROM webhook_deliveries WHERE tenant_id = $1 AND webhook_id = $2 FOR UPDATE",
);
const countByStatus = statement<{ status: string; count: number }, [tenantId: string, webhookId: string]>(
  "testing.count_deliveries",
  `SELECT status, count(*)::int AS count FROM webhook_deliveries
   WHERE tenant_id = $1 AND webhook_id = $2 GROUP BY status`,
);

type Database = TestServer["database"];

const inside = (tenantId: string) => ({ kind: "tenant", tenantId }) as const;

export async function sealedSecrets(database: Database, tenantId: string, webhookId: string): Promise<Buffer[]> {
  const rows = await database.snapshot(inside(tenantId), (tx) => tx.query(selectSecrets, tenantId, webhookId));
  return rows.map(({ ciphertext }) => ciphertext);
}

/** The numbers of secrets and deliveries of a webhook. */
export async function rowsOfWebhook(database: Database, tenantId: string, webhookId: string): Promise<number> {
  const rows = await database.snapshot(inside(tenantId), (tx) => tx.query(countLeft, tenantId, webhookId));
  return rows[0]?.count ?? 0;
}

/**
 * Inserts a delivery whose event is not in the audit record. The delivery is due, or has failed if `dueAt` is absent.
 */
export async function insertStaleDelivery(
  database: Database,
  tenantId: string,
  webhookId: string,
  id: string,
  dueAt?: Date,
): Promise<void> {
  await database.transaction(inside(tenantId), (tx) => tx.query(insertStale, tenantId, webhookId, id, dueAt ?? null));
}

/** Assigns the pending deliveries of a webhook to jobs that never run. */
export async function holdDeliveries(
  database: Database,
  tenantId: string,
  webhookId: string,
  until: Date,
): Promise<void> {
  await database.transaction(inside(tenantId), (tx) => tx.query(hold, tenantId, webhookId, until));
}

/** Runs something while a transaction holds locks on the deliveries of a webhook. */
export async function whileLocked(
  database: Database,
  tenantId: string,
  webhookId: string,
  run: () => Promise<void>,
): Promise<void> {
  await database.transaction(inside(tenantId), async (tx) => {
    await tx.query(lock, tenantId, webhookId);
    await run();
  });
}

/**
 * Adds audit entries that share one generation: more than one command of the API can create.
 *
 * @param size the length of a text in each entry
 */
export async function insertAuditEntries(database: Database, tenantId: string, count: number, size = 0): Promise<void> {
  await database.transaction(inside(tenantId), (tx) => tx.query(insertEntries, tenantId, count, size));
}

/** Ends the oldest pending deliveries of a webhook without an attempt. */
export async function finishDeliveries(
  database: Database,
  tenantId: string,
  webhookId: string,
  status: "DELIVERED" | "FAILED",
  count: number,
): Promise<void> {
  await database.transaction(inside(tenantId), (tx) => tx.query(finish, tenantId, webhookId, status, count));
}

/** The numbers of deliveries of a webhook, by status. */
export async function deliveryCounts(
  database: Database,
  tenantId: string,
  webhookId: string,
): Promise<Partial<Record<string, number>>> {
  const rows = await database.snapshot(inside(tenantId), (tx) => tx.query(countByStatus, tenantId, webhookId));
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}
