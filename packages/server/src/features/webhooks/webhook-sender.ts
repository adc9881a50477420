/** Runs the jobs: makes one attempt at one delivery and stores its result. */
import type { DisabledReason, WebhookAttempt } from "@gatehouse/contract/records/webhook";
import { eventView } from "../../platform/audit/entry.ts";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import type { Clock } from "../../platform/clock.ts";
import { type CommandRunner, runCommand } from "../../platform/command.ts";
import { newId } from "../../platform/ids.ts";
import type { Job } from "../../platform/jobs/job-queue.ts";
import { maxBodyBytes } from "../../platform/outbound/body-space.ts";
import type { Exchange } from "../../platform/outbound/exchange.ts";
import { guardedPost, type PostOutcome } from "../../platform/outbound/guarded-post.ts";
import { empty } from "../../platform/outcome.ts";
import type { AttemptResult } from "../../platform/telemetry/metrics.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { hasEvent, readEventUpTo } from "../events/events.api.ts";
import { judge, lastsTooLong, postponementMs, type Verdict } from "./retry-schedule.rules.ts";
import { type DeliveryRow, giveUpDeliveries } from "./webhook-deliveries.queries.ts";
import * as queries from "./webhook-dispatch.queries.ts";
import { signingSecrets } from "./webhook-secrets.queries.ts";
import { secretContext, signedHeaders } from "./webhook-signatures.ts";
import { lockWebhook, readWebhook, updateWebhook, type WebhookRow } from "./webhooks.queries.ts";
import { webhookView } from "./webhooks.view.ts";

/** The time limit of an attempt, in milliseconds. */
const defaultTimeoutMs = 10_000;
/** The number of attempts that a delivery stores: the latest ones. */
const storedAttempts = 30;
const tooLarge = `the message has more than ${maxBodyBytes / 1024 / 1024} MiB`;

export interface WebhookSenderOptions {
  readonly runner: CommandRunner;
  readonly clock: Clock;
  /** The time of continuous failures after which a webhook is disabled, in milliseconds. */
  readonly disableAfterMs: number;
  /** The time after which a webhook that does not catch up with the events is disabled, in milliseconds. */
  readonly behindAfterMs: number;
  readonly timeoutMs?: number;
  /** Defaults to that of the server. */
  readonly exchange?: Exchange;
  /** From 0 to below 1. */
  readonly random?: () => number;
  /** Called after each attempt. */
  readonly attempted?: ((result: AttemptResult) => void) | undefined;
}

/** A message that is ready to send. */
interface Prepared {
  readonly delivery: DeliveryRow;
  readonly webhook: WebhookRow;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export class WebhookSender {
  readonly #options: WebhookSenderOptions;

  constructor(options: WebhookSenderOptions) {
    this.#options = options;
  }

  /** @param job names the tenant and the delivery */
  async perform(job: Job, signal: AbortSignal): Promise<void> {
    const { tenantId, deliveryId } = job.content;
    if (tenantId === undefined || deliveryId === undefined) throw new Error("the job has no delivery");
    const assigned: queries.Assignment = { deliveryId, jobId: job.id };
    const prepared = await this.#inside(tenantId, (tx) => this.#prepare(tx, assigned));
    if (prepared === undefined) return;
    const { clock, runner, timeoutMs = defaultTimeoutMs, exchange = runner.exchange } = this.#options;
    const at = clock.now();
    const outcome = await guardedPost({
      tenantId,
      url: prepared.url,
      headers: prepared.headers,
      body: prepared.body,
      timeoutMs,
      networks: runner.webhookNetworks,
      exchange,
      signal,
      clock,
    });
    if (outcome.kind === "aborted") {
      await this.#inside(tenantId, (tx) => queries.releaseDelivery(tx, assigned));
      return;
    }
    await this.#settle(tenantId, assigned, prepared, outcome, at);
  }

  /** @returns undefined if there is nothing to send: another job holds the delivery, or it has ended or ends here */
  async #prepare(tx: TenantTx, assigned: queries.Assignment): Promise<Prepared | undefined> {
    const { clock, runner } = this.#options;
    const now = clock.now();
    const until = new Date(now.getTime() + queries.jobTimeoutMs);
    const delivery = await queries.claimDelivery(tx, assigned, until);
    if (delivery === undefined) return undefined;
    const [webhook, secrets, event] = await Promise.all([
      readWebhook(tx, delivery.webhook_id),
      signingSecrets(tx, delivery.webhook_id, now),
      delivery.event_id === null ? undefined : readEventUpTo(tx, delivery.event_id, maxBodyBytes),
    ]);
    const end = async (error: string) => {
      const attempts = remember(delivery.attempts, { at: now.toISOString(), error, durationMs: 0 });
      const over = { status: "FAILED", nextAttemptAt: null, failures: delivery.failures, receiver: "unasked" } as const;
      await queries.storeAttempt(tx, assigned, { ...over, webhookId: delivery.webhook_id, attempts }, now);
      return undefined;
    };
    if (webhook === undefined || !webhook.active) return end("the webhook is not active");
    if (delivery.event_id !== null && event === undefined) {
      return end((await hasEvent(tx, delivery.event_id)) ? tooLarge : "the event was pruned");
    }
    const content =
      event === undefined
        ? { type: delivery.type, timestamp: delivery.created_at, data: { webhookId: webhook.id, name: webhook.name } }
        : { type: delivery.type, timestamp: event.created_at, data: eventView(event) };
    const body = JSON.stringify(content);
    if (Buffer.byteLength(body) > maxBodyBytes) return end(tooLarge);
    const opened = secrets.map(({ id, ciphertext }) =>
      runner.secrets.webhookSecrets.open(ciphertext, secretContext(tx.tenantId, webhook.id, id)),
    );
    const headers = {
      "content-type": "application/json",
      "user-agent": "Gatehouse",
      ...signedHeaders(delivery.id, now, body, opened),
    };
    return { delivery, webhook, url: new URL(webhook.url), headers, body };
  }

  async #settle(
    tenantId: string,
    assigned: queries.Assignment,
    { delivery, webhook }: Prepared,
    outcome: Exclude<PostOutcome, { kind: "aborted" }>,
    at: Date,
  ): Promise<void> {
    const { clock, random = Math.random, disableAfterMs, behindAfterMs, attempted } = this.#options;
    const now = clock.now();
    const statusCode = outcome.kind === "answered" ? outcome.statusCode : undefined;
    const retryAfter = outcome.kind === "answered" ? outcome.retryAfter : undefined;
    const isPostponed = outcome.kind === "postponed";
    // Consecutive postponements are stored as one, so that earlier attempts remain.
    const isPostponedAgain = isPostponed && delivery.attempts.at(-1)?.error === outcome.problem;
    const verdict: Verdict = isPostponed
      ? { kind: "again", delayMs: postponementMs(isPostponedAgain ? delayOf(delivery) : 0, random()) }
      : judge({ statusCode, retryAfter }, delivery.failures, now, random());
    const error = outcome.kind === "answered" ? problemWithStatus(outcome.statusCode, verdict) : outcome.problem;
    const attempt: WebhookAttempt = {
      at: at.toISOString(),
      ...(statusCode === undefined ? {} : { statusCode }),
      ...(error === undefined ? {} : { error }),
      durationMs: outcome.durationMs,
    };
    const delivered = verdict.kind === "delivered";
    attempted?.(delivered ? "delivered" : verdict.kind === "again" ? "retried" : "given-up");
    const result: queries.AttemptResult = {
      webhookId: webhook.id,
      status: delivered ? "DELIVERED" : verdict.kind === "again" ? "PENDING" : "FAILED",
      attempts: remember(isPostponedAgain ? delivery.attempts.slice(0, -1) : delivery.attempts, attempt),
      failures: delivered || isPostponed ? delivery.failures : delivery.failures + 1,
      nextAttemptAt: verdict.kind === "again" ? new Date(now.getTime() + verdict.delayMs) : null,
      receiver: isPostponed ? "unasked" : delivered ? "fine" : "failing",
    };
    await this.#inside(tenantId, (tx) => queries.storeAttempt(tx, assigned, result, now));
    if (verdict.kind === "gone") await this.#disable(tenantId, webhook.id, "GONE", now);
    else if (result.receiver === "failing" && lastsTooLong(webhook.failing_since, now, disableAfterMs)) {
      await this.#disable(tenantId, webhook.id, "FAILING", now);
    } else if (lastsTooLong(webhook.behind_since, now, behindAfterMs)) {
      await this.#disable(tenantId, webhook.id, "BEHIND", now);
    }
  }

  /** Runs as a command of the system with an audit entry, so that administrators and other webhooks are notified. */
  async #disable(tenantId: string, webhookId: string, reason: DisabledReason, at: Date): Promise<void> {
    const { runner, disableAfterMs, behindAfterMs } = this.#options;
    const origin = {
      actor: { type: "system", name: "Gatehouse" },
      operation: "disableWebhook",
      requestId: newId(),
      at,
    } as const;
    const command = { scope: { kind: "tenant", tenantId }, tenantId, origin, idempotency: undefined } as const;
    await runCommand(runner, command, async (tx) => {
      const row = await lockWebhook(tx, webhookId);
      if (row === undefined || !row.active) return empty();
      // Meanwhile an attempt may have succeeded, or an administrator may have activated the webhook again.
      if (reason === "FAILING" && !lastsTooLong(row.failing_since, at, disableAfterMs)) return empty();
      if (reason === "BEHIND" && !lastsTooLong(row.behind_since, at, behindAfterMs)) return empty();
      const disabled = { ...row, active: false, disabled_reason: reason, disabled_at: at.toISOString() };
      const updated = await updateWebhook(tx, grantedToSystem(), disabled, at);
      await giveUpDeliveries(tx, grantedToSystem(), webhookId, at);
      tx.record({
        type: "webhook",
        id: row.id,
        name: row.name,
        before: webhookView(row),
        after: webhookView(updated),
      });
      return empty();
    });
  }

  #inside<T>(tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
    return this.#options.runner.database.transaction({ kind: "tenant", tenantId }, (transaction) =>
      work({ tenantId, query: transaction.query }),
    );
  }
}

function remember(attempts: readonly WebhookAttempt[], attempt: WebhookAttempt): readonly WebhookAttempt[] {
  return [...attempts, attempt].slice(-storedAttempts);
}

/** The delay that was chosen after the previous attempt, in milliseconds; 0 if the delivery was started again. */
function delayOf({ next_attempt_at: next, updated_at: previous }: DeliveryRow): number {
  return next === null ? 0 : Date.parse(next) - Date.parse(previous);
}

function problemWithStatus(statusCode: number, verdict: Verdict): string | undefined {
  if (verdict.kind === "delivered") return undefined;
  if (statusCode >= 300 && statusCode < 400) return `the receiver answered ${statusCode}; redirects are not followed`;
  return `the receiver answered ${statusCode}`;
}
