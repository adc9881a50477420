import type { DeliveryStatus, WebhookAttempt } from "@gatehouse/contract/records/webhook";
import type { Granted } from "../../platform/authorization/granted.ts";
import { countStatement, type ListSource, pageStatement } from "../../platform/db/list-statement.ts";
import { statement } from "../../platform/db/statement.ts";
import type { ListQuery } from "../../platform/list-query.ts";
import { requireFollowed } from "../../platform/tenancy/list-page.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface DeliveryRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
  readonly webhook_id: string;
  readonly event_id: string | null;
  readonly type: string;
  readonly status: DeliveryStatus;
  readonly attempts: WebhookAttempt[];
  readonly failures: number;
  readonly next_attempt_at: string | null;
}

const names = [
  "id",
  "created_at",
  "updated_at",
  "version",
  "webhook_id",
  "event_id",
  "type",
  "status",
  "attempts",
  "failures",
  "next_attempt_at",
];
const columns = names.join(", ");

const source: ListSource = {
  table: "webhook_deliveries",
  select: names.map((name) => `item.${name}`).join(", "),
  columns: {
    id: { value: "item.id" },
    createdAt: { value: "item.created_at" },
    updatedAt: { value: "item.updated_at" },
    status: { value: "item.status" },
    type: { value: "item.type" },
    eventId: { value: "item.event_id" },
    // Internal filter: the webhook's id is part of the path.
    webhookId: { value: "item.webhook_id" },
  },
};

const selectOne = statement<DeliveryRow, [tenantId: string, webhookId: string, id: string]>(
  "webhook_deliveries.read",
  `SELECT ${columns} FROM webhook_deliveries WHERE tenant_id = $1 AND webhook_id = $2 AND id = $3`,
);
const selectForChange = statement<DeliveryRow, [tenantId: string, webhookId: string, id: string]>(
  "webhook_deliveries.lock",
  `SELECT ${columns} FROM webhook_deliveries WHERE tenant_id = $1 AND webhook_id = $2 AND id = $3 FOR UPDATE`,
);
const insertTest = statement<DeliveryRow, [tenantId: string, webhookId: string, id: string, at: Date]>(
  "webhook_deliveries.insert_test",
  `INSERT INTO webhook_deliveries (tenant_id, webhook_id, id, created_at, updated_at, type, next_attempt_at)
   VALUES ($1, $2, $3, $4, $4, 'webhook.test', $4) RETURNING ${columns}`,
);
const restart = statement<DeliveryRow, [tenantId: string, id: string, at: Date]>(
  "webhook_deliveries.restart",
  `UPDATE webhook_deliveries
   SET updated_at = $3, version = version + 1, status = 'PENDING', failures = 0, next_attempt_at = $3,
       job_id = NULL, queued_until = NULL
   WHERE tenant_id = $1 AND id = $2 RETURNING ${columns}`,
);
const giveUp = statement<never, [tenantId: string, webhookId: string, at: Date]>(
  "webhook_deliveries.give_up",
  `UPDATE webhook_deliveries
   SET updated_at = $3, status = 'FAILED', next_attempt_at = NULL, job_id = NULL, queued_until = NULL
   WHERE tenant_id = $1 AND webhook_id = $2 AND status = 'PENDING'`,
);

/** One page of a webhook's deliveries. */
export async function listDeliveries(
  tx: TenantTx,
  webhookId: string,
  query: ListQuery,
): Promise<{ readonly rows: DeliveryRow[]; readonly total: number }> {
  const ofWebhook = { field: "webhookId", kind: "uuid", operator: "eq", values: [webhookId] } as const;
  const within = { ...query, filters: [...query.filters, ofWebhook] };
  const page = pageStatement<DeliveryRow>(source, within);
  const count = countStatement(source, within);
  const [rows, counts] = await Promise.all([
    tx.query(page.statement, ...page.parameters),
    tx.query(count.statement, ...count.parameters),
    requireFollowed(tx, source, within),
  ]);
  return { rows, total: counts[0]?.count ?? 0 };
}

export async function readDelivery(tx: TenantTx, webhookId: string, id: string): Promise<DeliveryRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, webhookId, id))[0];
}

/** Reads the delivery. Nobody else can change it before the transaction ends. The webhook must be locked first. */
export async function lockDelivery(tx: TenantTx, webhookId: string, id: string): Promise<DeliveryRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, webhookId, id))[0];
}

/** Inserts a test message without an event, due at once. */
export async function insertTestDelivery(
  tx: TenantTx,
  _granted: Granted<"webhooks:write">,
  webhookId: string,
  id: string,
  at: Date,
): Promise<DeliveryRow> {
  return only(await tx.query(insertTest, tx.tenantId, webhookId, id, at));
}

/** Makes a delivery due at once, with all attempts available again. A job that already holds the delivery loses it. */
export async function restartDelivery(
  tx: TenantTx,
  _granted: Granted<"webhooks:write">,
  id: string,
  at: Date,
): Promise<DeliveryRow> {
  return only(await tx.query(restart, tx.tenantId, id, at));
}

/** Ends all pending deliveries of a webhook. */
export async function giveUpDeliveries(
  tx: TenantTx,
  _granted: Granted<"webhooks:write">,
  webhookId: string,
  at: Date,
): Promise<void> {
  await tx.query(giveUp, tx.tenantId, webhookId, at);
}

function only(rows: readonly DeliveryRow[]): DeliveryRow {
  const [row] = rows;
  if (row === undefined) throw new Error("the updated delivery was not returned");
  return row;
}
