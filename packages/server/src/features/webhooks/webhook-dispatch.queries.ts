/** The states of deliveries: created, assigned to jobs, attempted, deleted. */
import type { DeliveryStatus, WebhookAttempt } from "@gatehouse/contract/records/webhook";
import type { Database } from "../../platform/db/database.ts";
import { statement } from "../../platform/db/statement.ts";
import { beyondLongest } from "../../platform/stored-times.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { endOfGeneration, type FeedPosition } from "../events/events.api.ts";
import { longestDelayMs } from "./retry-schedule.rules.ts";
import type { DeliveryRow } from "./webhook-deliveries.queries.ts";

/** The time that a job may wait and run before its delivery gets another job, in milliseconds. */
export const jobTimeoutMs = 120_000;

/** SQL: the pending deliveries of a webhook whose next attempt, or the end of whose job, is too far ahead. */
const futureDeliveries = (now: string) => `(
  SELECT next.id FROM webhook_deliveries AS next
  WHERE next.tenant_id = webhook.tenant_id AND next.webhook_id = webhook.id AND next.status = 'PENDING'
    AND ${beyondLongest("next.next_attempt_at", now, longestDelayMs)}
  UNION ALL
  SELECT queued.id FROM webhook_deliveries AS queued
  WHERE queued.tenant_id = webhook.tenant_id AND queued.webhook_id = webhook.id AND queued.status = 'PENDING'
    AND ${beyondLongest("queued.queued_until", now, jobTimeoutMs)})`;

/** The position of a webhook that has read a whole generation. */
const { eventId: highestId } = endOfGeneration(0);

const selectTenantsWithWork = statement<{ tenant_id: string }, [now: Date]>(
  "webhook_dispatch.tenants",
  `SELECT webhook.tenant_id FROM webhooks AS webhook
   JOIN tenant_generations AS tenant ON tenant.tenant_id = webhook.tenant_id
   WHERE webhook.active AND (webhook.cursor_generation, webhook.cursor_event_id) < (tenant.generation, '${highestId}'::uuid)
   UNION
   SELECT webhook.tenant_id FROM webhooks AS webhook
   CROSS JOIN LATERAL (
     -- One is enough: there may be very many.
     SELECT FROM webhook_deliveries AS item
     WHERE item.tenant_id = webhook.tenant_id AND item.webhook_id = webhook.id AND item.status = 'PENDING'
       AND item.next_attempt_at <= $1 AND (item.queued_until IS NULL OR item.queued_until <= $1)
     LIMIT 1
   ) AS due
   WHERE webhook.active
   UNION
   SELECT webhook.tenant_id FROM webhooks AS webhook
   WHERE webhook.active AND EXISTS ${futureDeliveries("$1")}`,
);
const restartFutureDated = statement<never, [tenantId: string, now: Date]>(
  "webhook_dispatch.restart_future_dated",
  // Commands lock many deliveries of a webhook in any order, so this one waits for none of them.
  `UPDATE webhook_deliveries AS item
   SET next_attempt_at = least(item.next_attempt_at, $2), job_id = NULL, queued_until = NULL
   WHERE item.tenant_id = $1 AND item.id = ANY (ARRAY (
     SELECT free.id FROM webhook_deliveries AS free
     WHERE free.tenant_id = $1 AND free.status = 'PENDING' AND free.id IN (
       SELECT late.id FROM webhooks AS webhook CROSS JOIN LATERAL ${futureDeliveries("$2")} AS late
       WHERE webhook.tenant_id = $1)
     ORDER BY free.id FOR UPDATE SKIP LOCKED))`,
);
const selectTenants = statement<{ tenant_id: string }, []>(
  "webhook_dispatch.all_tenants",
  "SELECT DISTINCT tenant_id FROM webhooks",
);

/** A webhook with unread events of its tenant. */
export interface FollowingWebhook {
  readonly id: string;
  readonly events: readonly string[];
  readonly cursor_generation: number;
  readonly cursor_event_id: string;
  readonly behind_since: string | null;
  /** The number of pending deliveries, up to a limit. */
  readonly pending: number;
}

const lockFollowing = statement<
  FollowingWebhook,
  [tenantId: string, generation: number, eventId: string, limit: number, full: readonly string[]]
>(
  "webhook_dispatch.lock_following_and_count_others",
  // A locked webhook is being processed by another replica.
  `SELECT webhook.id, webhook.events, webhook.cursor_generation, webhook.cursor_event_id, webhook.behind_since,
     CASE WHEN webhook.id = ANY ($5::uuid[]) THEN $4::int ELSE (SELECT count(*)::int FROM (
        SELECT FROM webhook_deliveries AS item
        WHERE item.tenant_id = webhook.tenant_id AND item.webhook_id = webhook.id AND item.status = 'PENDING'
        LIMIT $4::int) AS counted) END AS pending
   FROM webhooks AS webhook
   WHERE webhook.tenant_id = $1 AND webhook.active
     AND (webhook.cursor_generation, webhook.cursor_event_id) < ($2, $3::uuid)
   ORDER BY webhook.id FOR UPDATE OF webhook SKIP LOCKED`,
);
const markManyBehind = statement<never, [tenantId: string, ids: readonly string[], at: Date]>(
  "webhook_dispatch.mark_behind",
  `UPDATE webhooks SET behind_since = $3
   WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND behind_since IS NULL`,
);
const insertMany = statement<
  never,
  [
    tenantId: string,
    at: Date,
    ids: readonly string[],
    webhookIds: readonly string[],
    eventIds: readonly string[],
    types: readonly string[],
  ]
>(
  "webhook_dispatch.insert_deliveries",
  `INSERT INTO webhook_deliveries (tenant_id, created_at, updated_at, next_attempt_at, id, webhook_id, event_id, type)
   SELECT $1, $2, $2, $2, made.id, made.webhook_id, made.event_id, made.type
   FROM unnest($3::uuid[], $4::uuid[], $5::uuid[], $6::text[]) AS made (id, webhook_id, event_id, type)`,
);
const moveCursors = statement<
  never,
  [tenantId: string, ids: readonly string[], generation: number, eventId: string, complete: boolean]
>(
  "webhook_dispatch.move_positions",
  `UPDATE webhooks SET cursor_generation = $3, cursor_event_id = $4,
     behind_since = CASE WHEN $5::boolean THEN NULL ELSE behind_since END
   WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND (cursor_generation, cursor_event_id) < ($3, $4)`,
);
/** Replicas assign jobs of a tenant one after another. Otherwise, both could use up the tenant's limit. */
const lockJobs = statement<never, [tenantId: string]>(
  "webhook_dispatch.lock_jobs_of_tenant",
  "SELECT pg_advisory_xact_lock(hashtextextended('jobs of webhooks, tenant ' || $1::text, 0))",
);
const lockDue = statement<{ id: string }, [tenantId: string, now: Date, perWebhook: number, perTenant: number]>(
  "webhook_dispatch.lock_due_of_tenant",
  // The limit per tenant protects other tenants. Inside a tenant, webhooks with fewer jobs come first.
  `WITH held AS (
     SELECT webhook_id, count(*)::int AS jobs FROM webhook_deliveries
     WHERE tenant_id = $1 AND status = 'PENDING' AND queued_until > $2 GROUP BY webhook_id)
   SELECT due.id FROM webhooks AS webhook
   LEFT JOIN held ON held.webhook_id = webhook.id
   CROSS JOIN LATERAL (
     SELECT item.id, item.next_attempt_at FROM webhook_deliveries AS item
     WHERE item.tenant_id = webhook.tenant_id AND item.webhook_id = webhook.id AND item.status = 'PENDING'
       AND item.next_attempt_at <= $2 AND (item.queued_until IS NULL OR item.queued_until <= $2)
     ORDER BY item.next_attempt_at, item.id
     LIMIT greatest(0, $3 - coalesce(held.jobs, 0))
     FOR UPDATE SKIP LOCKED
   ) AS due
   WHERE webhook.tenant_id = $1 AND webhook.active
   ORDER BY coalesce(held.jobs, 0), due.next_attempt_at, due.id
   LIMIT greatest(0, $4 - (SELECT coalesce(sum(jobs), 0)::int FROM held))`,
);
const assignJobs = statement<
  never,
  [tenantId: string, ids: readonly string[], jobIds: readonly string[], queuedUntil: Date]
>(
  "webhook_dispatch.assign_jobs",
  `UPDATE webhook_deliveries AS item SET job_id = assigned.job_id, queued_until = $4
   FROM unnest($2::uuid[], $3::uuid[]) AS assigned (id, job_id)
   WHERE item.tenant_id = $1 AND item.id = assigned.id`,
);
const claim = statement<DeliveryRow, [tenantId: string, id: string, jobId: string, queuedUntil: Date]>(
  "webhook_dispatch.claim",
  `UPDATE webhook_deliveries SET queued_until = $4
   WHERE tenant_id = $1 AND id = $2 AND job_id = $3 AND status = 'PENDING'
   RETURNING id, created_at, updated_at, version, webhook_id, event_id, type, status, attempts, failures, next_attempt_at`,
);
const release = statement<never, [tenantId: string, id: string, jobId: string]>(
  "webhook_dispatch.release",
  `UPDATE webhook_deliveries SET job_id = NULL, queued_until = NULL
   WHERE tenant_id = $1 AND id = $2 AND job_id = $3`,
);
const store = statement<
  { id: string },
  [
    tenantId: string,
    id: string,
    jobId: string,
    at: Date,
    status: string,
    attempts: string,
    failures: number,
    nextAttemptAt: Date | null,
  ]
>(
  "webhook_dispatch.store_attempt",
  `UPDATE webhook_deliveries
   SET updated_at = $4, status = $5, attempts = $6::jsonb, failures = $7, next_attempt_at = $8,
       job_id = NULL, queued_until = NULL
   WHERE tenant_id = $1 AND id = $2 AND job_id = $3 RETURNING id`,
);
const noteSuccess = statement<never, [tenantId: string, id: string]>(
  "webhook_dispatch.note_success",
  "UPDATE webhooks SET failing_since = NULL WHERE tenant_id = $1 AND id = $2 AND failing_since IS NOT NULL",
);
const noteFailure = statement<never, [tenantId: string, id: string, at: Date]>(
  "webhook_dispatch.note_failure",
  "UPDATE webhooks SET failing_since = $3 WHERE tenant_id = $1 AND id = $2 AND failing_since IS NULL",
);
const clearOld = statement<{ id: string }, [tenantId: string, createdBefore: Date, limit: number]>(
  "webhook_dispatch.clear",
  `DELETE FROM webhook_deliveries WHERE tenant_id = $1 AND id IN (
     SELECT id FROM webhook_deliveries
     WHERE tenant_id = $1 AND created_at < $2 AND status <> 'PENDING' LIMIT $3)
   RETURNING id`,
);

const clearBeyond = statement<{ id: string }, [tenantId: string, kept: number, limit: number]>(
  "webhook_dispatch.clear_beyond",
  // An administrator may have restarted a delivery meanwhile, so the status is checked again.
  `WITH excess AS MATERIALIZED (
     SELECT old.id FROM webhooks AS webhook
     CROSS JOIN unnest(ARRAY['DELIVERED', 'FAILED']) AS finished (status)
     CROSS JOIN LATERAL (
       SELECT item.id FROM webhook_deliveries AS item
       WHERE item.tenant_id = webhook.tenant_id AND item.webhook_id = webhook.id AND item.status = finished.status
       ORDER BY item.id DESC OFFSET $2
     ) AS old
     WHERE webhook.tenant_id = $1 LIMIT $3)
   DELETE FROM webhook_deliveries AS item USING excess
   WHERE item.tenant_id = $1 AND item.id = excess.id AND item.status <> 'PENDING'
   RETURNING item.id`,
);

/** Tenants with events that a webhook has not read, or with due deliveries that no job holds. */
export async function tenantsWithWork(database: Database, now: Date): Promise<readonly string[]> {
  const rows = await database.snapshot({ kind: "operator" }, (tx) => tx.query(selectTenantsWithWork, now));
  return rows.map(({ tenant_id: id }) => id);
}

/** Tenants that have webhooks. */
export async function tenantsWithWebhooks(database: Database): Promise<readonly string[]> {
  const rows = await database.snapshot({ kind: "operator" }, (tx) => tx.query(selectTenants));
  return rows.map(({ tenant_id: id }) => id);
}

/**
 * The active webhooks before a position in the record, except for those that another replica processes.
 *
 * @param limit the number up to which pending deliveries are counted
 * @param full webhooks whose deliveries are not counted, because they have as many
 */
export function lockFollowingWebhooks(
  tx: TenantTx,
  position: FeedPosition,
  limit: number,
  full: readonly string[],
): Promise<FollowingWebhook[]> {
  return tx.query(lockFollowing, tx.tenantId, position.generation, position.eventId, limit, full);
}

/** Records since when webhooks are behind, unless they are already. */
export async function markBehind(tx: TenantTx, ids: readonly string[], at: Date): Promise<void> {
  if (ids.length > 0) await tx.query(markManyBehind, tx.tenantId, ids, at);
}

export interface NewDelivery {
  readonly id: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly type: string;
}

export async function insertDeliveries(tx: TenantTx, made: readonly NewDelivery[], at: Date): Promise<void> {
  if (made.length === 0) return;
  await tx.query(
    insertMany,
    tx.tenantId,
    at,
    made.map(({ id }) => id),
    made.map(({ webhookId }) => webhookId),
    made.map(({ eventId }) => eventId),
    made.map(({ type }) => type),
  );
}

/**
 * Stores the positions of webhooks, which never move back.
 *
 * @param complete whether the webhooks have read all events, and are no longer behind
 */
export async function moveWebhooks(
  tx: TenantTx,
  ids: readonly string[],
  position: FeedPosition,
  complete: boolean,
): Promise<void> {
  await tx.query(moveCursors, tx.tenantId, ids, position.generation, position.eventId, complete);
}

/** The most jobs at the same time, over all replicas. */
export interface JobLimits {
  readonly perWebhook: number;
  readonly perTenant: number;
}

/**
 * Due deliveries that no job holds, within the limits. Webhooks with fewer jobs take precedence. Future-dated
 * deliveries become due and lose their job.
 */
export async function lockDueDeliveries(
  tx: TenantTx,
  now: Date,
  { perWebhook, perTenant }: JobLimits,
): Promise<readonly string[]> {
  // A separate statement: the next one must see the jobs that were committed before the lock was released.
  await tx.query(lockJobs, tx.tenantId);
  await tx.query(restartFutureDated, tx.tenantId, now);
  return (await tx.query(lockDue, tx.tenantId, now, perWebhook, perTenant)).map(({ id }) => id);
}

export interface Assignment {
  readonly deliveryId: string;
  readonly jobId: string;
}

/** Assigns deliveries to jobs until a deadline. */
export async function assignDeliveries(tx: TenantTx, assigned: readonly Assignment[], until: Date): Promise<void> {
  const ids = assigned.map(({ deliveryId }) => deliveryId);
  const jobIds = assigned.map(({ jobId }) => jobId);
  await tx.query(assignJobs, tx.tenantId, ids, jobIds, until);
}

/** @returns the delivery if the job still holds it; no other job gets it before `until` */
export async function claimDelivery(
  tx: TenantTx,
  { deliveryId, jobId }: Assignment,
  until: Date,
): Promise<DeliveryRow | undefined> {
  return (await tx.query(claim, tx.tenantId, deliveryId, jobId, until))[0];
}

/** Returns a delivery without an attempt. */
export async function releaseDelivery(tx: TenantTx, { deliveryId, jobId }: Assignment): Promise<void> {
  await tx.query(release, tx.tenantId, deliveryId, jobId);
}

export interface AttemptResult {
  readonly webhookId: string;
  readonly status: DeliveryStatus;
  readonly attempts: readonly WebhookAttempt[];
  readonly failures: number;
  readonly nextAttemptAt: Date | null;
  /** The evidence of the attempt about the receiver. */
  readonly receiver: "fine" | "failing" | "unasked";
}

/** Stores the result of an attempt, unless another job holds the delivery by now. */
export async function storeAttempt(tx: TenantTx, assigned: Assignment, result: AttemptResult, at: Date): Promise<void> {
  const { webhookId, status, attempts, failures, nextAttemptAt } = result;
  // Lock the webhook before the delivery, like commands do.
  if (result.receiver === "fine") await tx.query(noteSuccess, tx.tenantId, webhookId);
  if (result.receiver === "failing") await tx.query(noteFailure, tx.tenantId, webhookId, at);
  const { deliveryId, jobId } = assigned;
  await tx.query(store, tx.tenantId, deliveryId, jobId, at, status, JSON.stringify(attempts), failures, nextAttemptAt);
}

/** @returns the number of deleted deliveries; `limit` if there may be more */
export async function clearDeliveries(tx: TenantTx, createdBefore: Date, limit: number): Promise<number> {
  return (await tx.query(clearOld, tx.tenantId, createdBefore, limit)).length;
}

/**
 * Clears finished deliveries, except for the newest ones of each webhook and status.
 *
 * @returns the number of deleted deliveries; `limit` if there may be more
 */
export async function clearDeliveriesBeyond(tx: TenantTx, kept: number, limit: number): Promise<number> {
  return (await tx.query(clearBeyond, tx.tenantId, kept, limit)).length;
}
