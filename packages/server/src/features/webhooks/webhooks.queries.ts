import type { DisabledReason } from "@gatehouse/contract/records/webhook";
import type { Granted } from "../../platform/authorization/granted.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import type { FeedPosition } from "../events/events.api.ts";

export interface WebhookRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
  readonly name: string;
  readonly url: string;
  readonly events: string[];
  readonly active: boolean;
  readonly description: string;
  readonly disabled_reason: DisabledReason | null;
  readonly disabled_at: string | null;
  readonly failing_since: string | null;
  readonly behind_since: string | null;
}

const columns =
  "id, created_at, updated_at, version, name, url, events, active, description, disabled_reason, disabled_at, failing_since, behind_since";

const selectMany = statement<WebhookRow, [tenantId: string, afterId: string, limit: number]>(
  "webhooks.list",
  `SELECT ${columns} FROM webhooks WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
);
const selectOne = statement<WebhookRow, [tenantId: string, id: string]>(
  "webhooks.read",
  `SELECT ${columns} FROM webhooks WHERE tenant_id = $1 AND id = $2`,
);
const selectForChange = statement<WebhookRow, [tenantId: string, id: string]>(
  "webhooks.lock",
  `SELECT ${columns} FROM webhooks WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
);
const countAll = statement<{ count: number }, [tenantId: string]>(
  "webhooks.count",
  "SELECT count(*) AS count FROM webhooks WHERE tenant_id = $1",
);
const insert = statement<
  WebhookRow,
  [
    tenantId: string,
    id: string,
    at: Date,
    name: string,
    url: string,
    events: readonly string[],
    active: boolean,
    description: string,
    cursorGeneration: number,
    cursorEventId: string,
  ]
>(
  "webhooks.insert",
  `INSERT INTO webhooks (tenant_id, id, created_at, updated_at, name, url, events, active, description,
                         cursor_generation, cursor_event_id)
   VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING ${columns}`,
);
const update = statement<
  WebhookRow,
  [
    tenantId: string,
    id: string,
    at: Date,
    name: string,
    url: string,
    events: readonly string[],
    active: boolean,
    description: string,
    disabledReason: string | null,
    disabledAt: string | null,
    failingSince: string | null,
    behindSince: string | null,
  ]
>(
  "webhooks.update",
  `UPDATE webhooks
   SET updated_at = $3, version = version + 1, name = $4, url = $5, events = $6, active = $7, description = $8,
       disabled_reason = $9, disabled_at = $10, failing_since = $11, behind_since = $12
   WHERE tenant_id = $1 AND id = $2 RETURNING ${columns}`,
);
const moveCursor = statement<never, [tenantId: string, id: string, generation: number, eventId: string]>(
  "webhooks.move_cursor",
  "UPDATE webhooks SET cursor_generation = $3, cursor_event_id = $4 WHERE tenant_id = $1 AND id = $2",
);
const remove = statement<never, [tenantId: string, id: string]>(
  "webhooks.delete",
  "DELETE FROM webhooks WHERE tenant_id = $1 AND id = $2",
);

export function listWebhooks(tx: TenantTx, afterId: string, limit: number): Promise<WebhookRow[]> {
  return tx.query(selectMany, tx.tenantId, afterId, limit);
}

export async function readWebhook(tx: TenantTx, id: string): Promise<WebhookRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}

/** Reads the webhook. Nobody else can change it before the transaction ends. */
export async function lockWebhook(tx: TenantTx, id: string): Promise<WebhookRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

export async function countWebhooks(tx: TenantTx): Promise<number> {
  return (await tx.query(countAll, tx.tenantId))[0]?.count ?? 0;
}

/** The settings that administrators give a webhook. */
export type WebhookSettings = Pick<WebhookRow, "name" | "url" | "events" | "active" | "description">;

/** @param position the position from which it follows the tenant's events */
export async function insertWebhook(
  tx: TenantTx,
  _granted: Granted<"webhooks:write">,
  id: string,
  settings: WebhookSettings,
  position: FeedPosition,
  at: Date,
): Promise<WebhookRow> {
  const { name, url, events, active, description } = settings;
  const { generation, eventId } = position;
  const [row] = await tx.query(
    insert,
    tx.tenantId,
    id,
    at,
    name,
    url,
    events,
    active,
    description,
    generation,
    eventId,
  );
  if (row === undefined) throw new Error("the inserted webhook was not returned");
  return row;
}

/** Updates a locked webhook. */
export async function updateWebhook(
  tx: TenantTx,
  _granted: Granted<"webhooks:write">,
  row: WebhookRow,
  at: Date,
): Promise<WebhookRow> {
  const { id, name, url, events, active, description } = row;
  const { disabled_reason: reason, disabled_at: disabledAt } = row;
  const { failing_since: failingSince, behind_since: behindSince } = row;
  const [updated] = await tx.query(
    update,
    tx.tenantId,
    id,
    at,
    name,
    url,
    events,
    active,
    description,
    reason,
    disabledAt,
    failingSince,
    behindSince,
  );
  if (updated === undefined) throw new Error("the updated webhook was not returned");
  return updated;
}

/** Moves the webhook to another position in the tenant's events. */
export async function moveWebhook(
  tx: TenantTx,
  _granted: Granted<"webhooks:write">,
  id: string,
  position: FeedPosition,
): Promise<void> {
  await tx.query(moveCursor, tx.tenantId, id, position.generation, position.eventId);
}

/** Deletes the webhook with its secrets and deliveries. */
export async function deleteWebhook(tx: TenantTx, _granted: Granted<"webhooks:write">, id: string): Promise<void> {
  await tx.query(remove, tx.tenantId, id);
}
