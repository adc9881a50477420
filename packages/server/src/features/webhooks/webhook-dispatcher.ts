/**
 * Creates deliveries from audit entries, and jobs from due deliveries.
 *
 * Each step is one transaction in one tenant and derives its work from the database. A step that is interrupted runs
 * again later, on any replica, so no event is lost.
 */
import { changeKinds } from "@gatehouse/contract/event-types";
import type { Clock } from "../../platform/clock.ts";
import { TenantRounds, type TenantTask } from "../../platform/concurrency/tenant-rounds.ts";
import type { Database } from "../../platform/db/database.ts";
import { groupBy } from "../../platform/group-by.ts";
import { newId } from "../../platform/ids.ts";
import type { JobQueue } from "../../platform/jobs/job-queue.ts";
import type { Log } from "../../platform/log.ts";
import { readGeneration } from "../../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { endOfGeneration, eventsAfter, type FeedPosition } from "../events/events.api.ts";
import { eventType, isWanted } from "./event-filters.rules.ts";
import * as queries from "./webhook-dispatch.queries.ts";

/** The most entries that one transaction reads for a webhook. */
const entriesAtOnce = 500;
/** The most deliveries that one transaction creates. */
const deliveriesAtOnce = 2_000;
/** Concurrent attempts, over all replicas. One tenant uses at most half of the attempts of a replica. */
const jobLimits = { perWebhook: 4, perTenant: 8 };
/**
 * How long the deliveries of a full webhook are not counted again, in milliseconds. Runs are frequent, and half of the
 * deliveries have to end before it continues.
 */
const recountMs = 2_000;
/** The retention of the delivery log, in milliseconds. */
const logRetentionMs = 30 * 24 * 60 * 60 * 1000;
const clearedAtOnce = 5_000;

/** Numbers of deliveries of a webhook. */
export interface DeliveryLimits {
  /** Beyond this number of pending deliveries, events wait in the audit record until half of them have ended. */
  readonly pending: number;
  /** The delivered and the failed deliveries that the log keeps, each. */
  readonly logged: number;
}

export const deliveryLimits: DeliveryLimits = { pending: 5_000, logged: 5_000 };

export interface WebhookDispatcherOptions {
  readonly database: Database;
  readonly jobs: Pick<JobQueue, "enqueue" | "wake">;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: DeliveryLimits | undefined;
  /** Called if there is more work. */
  readonly changed: () => void;
}

export class WebhookDispatcher {
  readonly #options: WebhookDispatcherOptions;
  /** The full webhooks of each tenant, and when they are counted again, by `clock.elapsedMs()`. */
  readonly #full = new Map<string, Map<string, number>>();
  readonly #dispatching: TenantRounds;
  readonly #clearing: TenantRounds;

  constructor(options: WebhookDispatcherOptions) {
    const { log } = options;
    this.#options = options;
    this.#dispatching = new TenantRounds({ log, failed: "failed to dispatch webhook messages; will retry" });
    const failed = "failed to clear the delivery log of webhooks; will retry";
    this.#clearing = new TenantRounds({ log, failed, isRare: true });
  }

  /**
   * Does one step for each tenant with work. If there is more, it asks for another run, which reads the tenants again:
   * no tenant waits until the events of another are read.
   */
  async run(): Promise<void> {
    const { database, clock, jobs, changed } = this.#options;
    this.#forgetFull();
    const tenantIds = await queries.tenantsWithWork(database, clock.now());
    await this.#dispatching.run(tenantIds, async (tenantId, waitMs) => {
      if (await this.#follow(tenantId, waitMs)) changed();
      if (await this.#assign(tenantId, waitMs)) jobs.wake();
    });
  }

  /** Deletes finished deliveries from the log: after the retention time, and beyond the number that it keeps. */
  async clearLog(): Promise<void> {
    const { database, clock } = this.#options;
    const { logged } = this.#limits;
    const before = new Date(clock.now().getTime() - logRetentionMs);
    const clear: TenantTask = async (tenantId, waitMs) => {
      const clearAll = async (clearSome: (tx: TenantTx) => Promise<number>) => {
        while ((await this.#inside(tenantId, waitMs, clearSome)) === clearedAtOnce);
      };
      await clearAll((tx) => queries.clearDeliveries(tx, before, clearedAtOnce));
      await clearAll((tx) => queries.clearDeliveriesBeyond(tx, logged, clearedAtOnce));
    };
    await this.#clearing.run(await queries.tenantsWithWebhooks(database), clear);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#dispatching.stop(), this.#clearing.stop()]);
  }

  get #limits(): DeliveryLimits {
    return this.#options.limits ?? deliveryLimits;
  }

  /** Forgets the full webhooks that are to be counted again. */
  #forgetFull(): void {
    const elapsedMs = this.#options.clock.elapsedMs();
    for (const [tenantId, known] of this.#full) {
      for (const [id, until] of known) if (until <= elapsedMs) known.delete(id);
      if (known.size === 0) this.#full.delete(tenantId);
    }
  }

  /** @returns whether there may be more entries */
  async #follow(tenantId: string, waitMs: number): Promise<boolean> {
    const now = this.#options.clock.now();
    const { pending: limit } = this.#limits;
    const elapsedMs = this.#options.clock.elapsedMs();
    const known = this.#full.get(tenantId) ?? new Map<string, number>();
    return this.#inside(tenantId, waitMs, async (tx) => {
      // Read the generation first: the entries of all generations up to it are visible afterwards.
      const generation = (await readGeneration(tx)) ?? 0;
      const end = endOfGeneration(generation);
      const behind = await queries.lockFollowingWebhooks(tx, end, limit, [...known.keys()]);
      const isFull = ({ pending, behind_since: since }: queries.FollowingWebhook) =>
        pending >= limit || (since !== null && pending > limit / 2);
      const full = idsOf(behind.filter(isFull));
      for (const id of full) if (!known.has(id)) known.set(id, elapsedMs + recountMs);
      if (known.size > 0) this.#full.set(tenantId, known);
      await queries.markBehind(tx, full, now);
      const following = behind.filter((webhook) => !isFull(webhook));
      let more = false;
      for (const webhooks of groupBy(following, positionKey).values()) {
        const limits = { generation, entries: entriesPerWebhook(following.length) };
        if (!(await this.#read(tx, webhooks, limits, now))) more = true;
      }
      return more;
    });
  }

  /**
   * Creates the deliveries of webhooks at the same position, and moves the webhooks.
   *
   * @returns whether they have read all entries
   */
  async #read(
    tx: TenantTx,
    webhooks: readonly queries.FollowingWebhook[],
    limits: { readonly generation: number; readonly entries: number },
    now: Date,
  ): Promise<boolean> {
    const [first] = webhooks;
    if (first === undefined) return true;
    const { generation } = limits;
    const entries = await eventsAfter(tx, positionOf(first), limits.entries);
    const made = entries.flatMap((entry) => {
      const change = changeKinds[entry.created ? 0 : entry.deleted ? 2 : 1];
      const { operation, target_type: targetType } = entry;
      const type = eventType(targetType, change);
      return webhooks
        .filter(({ events }) => isWanted(events, { operation, targetType, change }))
        .map((webhook) => ({ id: newId(), webhookId: webhook.id, eventId: entry.id, type }));
    });
    await queries.insertDeliveries(tx, made, now);
    const last = entries.at(-1);
    const complete = entries.length < limits.entries;
    const seen: FeedPosition =
      last === undefined || (complete && last.generation <= generation)
        ? endOfGeneration(generation)
        : { generation: last.generation, eventId: last.id };
    await queries.moveWebhooks(tx, idsOf(webhooks), seen, complete);
    return complete;
  }

  /** @returns whether jobs were added */
  async #assign(tenantId: string, waitMs: number): Promise<boolean> {
    const now = this.#options.clock.now();
    return this.#inside(tenantId, waitMs, async (tx) => {
      const due = await queries.lockDueDeliveries(tx, now, jobLimits);
      if (due.length === 0) return false;
      const assigned = due.map((deliveryId) => ({ deliveryId, jobId: newId() }));
      await queries.assignDeliveries(tx, assigned, new Date(now.getTime() + queries.jobTimeoutMs));
      const jobs = assigned.map(({ deliveryId, jobId }) => ({ id: jobId, content: { tenantId, deliveryId } }));
      await this.#options.jobs.enqueue(tx, "webhook-deliveries", jobs);
      return true;
    });
  }

  #inside<T>(tenantId: string, waitMs: number, work: (tx: TenantTx) => Promise<T>): Promise<T> {
    return this.#options.database.transaction({ kind: "tenant", tenantId, waitMs }, (transaction) =>
      work({ tenantId, query: transaction.query }),
    );
  }
}

function positionOf(webhook: queries.FollowingWebhook): FeedPosition {
  return { generation: webhook.cursor_generation, eventId: webhook.cursor_event_id };
}

function positionKey({ cursor_generation: generation, cursor_event_id: id }: queries.FollowingWebhook): string {
  return `${generation} ${id}`;
}

/** The entries that a step reads for each webhook. A step for many webhooks is not longer than one for a few. */
function entriesPerWebhook(webhooks: number): number {
  return Math.max(1, Math.min(entriesAtOnce, Math.floor(deliveriesAtOnce / webhooks)));
}

function idsOf(webhooks: readonly queries.FollowingWebhook[]): readonly string[] {
  return webhooks.map(({ id }) => id);
}
