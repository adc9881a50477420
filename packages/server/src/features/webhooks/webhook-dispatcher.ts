/**
 * Creates deliveries from audit entries, and jobs from due deliveries.
 *
 * Each step is one transaction in one tenant and derives its work from the database. A step that is interrupted runs
 * again later, on any replica, so no event is lost.
 */
import { changeKinds } from "@gatehouse/contract/event-types";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import type { JobQueue } from "../../platform/jobs/job-queue.ts";
import { readGeneration } from "../../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { endOfGeneration, eventsAfter, type FeedPosition } from "../events/events.api.ts";
import { eventType, isWanted } from "./event-filters.rules.ts";
import * as queries from "./webhook-dispatch.queries.ts";

/** The number of entries that one transaction reads. */
const entriesAtOnce = 500;
/** Concurrent attempts, over all replicas. One tenant uses at most half of the attempts of a replica. */
const jobLimits = { perWebhook: 4, perTenant: 8 };
/** The time that a job may wait and run before its delivery gets another job, in milliseconds. */
export const jobTimeoutMs = 120_000;
/** The retention of the delivery log, in milliseconds. */
const logRetentionMs = 30 * 24 * 60 * 60 * 1000;
const clearedAtOnce = 5_000;

export interface WebhookDispatcherOptions {
  readonly database: Database;
  readonly jobs: JobQueue;
  readonly clock: Clock;
}

export class WebhookDispatcher {
  readonly #options: WebhookDispatcherOptions;

  constructor(options: WebhookDispatcherOptions) {
    this.#options = options;
  }

  /** Does all pending work of all tenants. */
  async run(): Promise<void> {
    const { database, clock, jobs } = this.#options;
    let failure: unknown;
    for (const tenantId of await queries.tenantsWithWork(database, clock.now())) {
      try {
        while (await this.#follow(tenantId)) {
          // One transaction per batch.
        }
        if (await this.#assign(tenantId)) jobs.wake();
      } catch (error) {
        // An error in one tenant must not stop the others.
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
  }

  /** Deletes finished deliveries from the log after the retention time. */
  async clearLog(): Promise<void> {
    const { database, clock } = this.#options;
    const before = new Date(clock.now().getTime() - logRetentionMs);
    for (const tenantId of await queries.tenantsWithWebhooks(database)) {
      let cleared = clearedAtOnce;
      while (cleared === clearedAtOnce) {
        cleared = await this.#inside(tenantId, (tx) => queries.clearDeliveries(tx, before, clearedAtOnce));
      }
    }
  }

  /** @returns whether there may be more entries */
  async #follow(tenantId: string): Promise<boolean> {
    const now = this.#options.clock.now();
    return this.#inside(tenantId, async (tx) => {
      // Read the generation first: the entries of all generations up to it are visible afterwards.
      const generation = (await readGeneration(tx)) ?? 0;
      const webhooks = await queries.lockFollowingWebhooks(tx, endOfGeneration(generation));
      const [start] = webhooks.map(positionOf).sort(byPosition);
      if (start === undefined) return false;
      const entries = await eventsAfter(tx, start, entriesAtOnce);
      const made = webhooks.flatMap((webhook) =>
        entries
          .filter((entry) => byPosition({ generation: entry.generation, eventId: entry.id }, positionOf(webhook)) > 0)
          .flatMap((entry) => {
            const change = changeKinds[entry.created ? 0 : entry.deleted ? 2 : 1];
            const { operation, target_type: targetType } = entry;
            if (!isWanted(webhook.events, { operation, targetType, change })) return [];
            const type = eventType(targetType, change);
            return [{ id: newId(), webhookId: webhook.id, eventId: entry.id, type }];
          }),
      );
      await queries.insertDeliveries(tx, made, now);
      const last = entries.at(-1);
      const complete = entries.length < entriesAtOnce;
      const seen: FeedPosition =
        last === undefined || (complete && last.generation <= generation)
          ? endOfGeneration(generation)
          : { generation: last.generation, eventId: last.id };
      await queries.moveWebhooks(
        tx,
        webhooks.map(({ id }) => id),
        seen,
      );
      return !complete;
    });
  }

  /** @returns whether jobs were added */
  async #assign(tenantId: string): Promise<boolean> {
    const now = this.#options.clock.now();
    return this.#inside(tenantId, async (tx) => {
      const due = await queries.lockDueDeliveries(tx, now, jobLimits);
      if (due.length === 0) return false;
      const assigned = due.map((deliveryId) => ({ deliveryId, jobId: newId() }));
      await queries.assignDeliveries(tx, assigned, new Date(now.getTime() + jobTimeoutMs));
      const jobs = assigned.map(({ deliveryId, jobId }) => ({ id: jobId, content: { tenantId, deliveryId } }));
      await this.#options.jobs.enqueue(tx, "webhook-deliveries", jobs);
      return true;
    });
  }

  #inside<T>(tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
    return this.#options.database.transaction({ kind: "tenant", tenantId }, (transaction) =>
      work({ tenantId, query: transaction.query }),
    );
  }
}

function positionOf(webhook: queries.FollowingWebhook): FeedPosition {
  return { generation: webhook.cursor_generation, eventId: webhook.cursor_event_id };
}

function byPosition(a: FeedPosition, b: FeedPosition): number {
  if (a.generation !== b.generation) return a.generation - b.generation;
  return a.eventId < b.eventId ? -1 : a.eventId > b.eventId ? 1 : 0;
}
