/** Public API of this feature: the delivery of webhooks. */
import type { Clock } from "../../platform/clock.ts";
import type { CommandRunner } from "../../platform/command.ts";
import type { JobQueue } from "../../platform/jobs/job-queue.ts";
import type { Log } from "../../platform/log.ts";
import type { OutboxFollower } from "../../platform/outbox/outbox-follower.ts";
import { deliveryLimits, WebhookDispatcher } from "./webhook-dispatcher.ts";
import { WebhookSender, type WebhookSenderOptions } from "./webhook-sender.ts";

export { listWebhooks as listWebhookRows, readWebhook } from "./webhooks.queries.ts";
export { webhookView } from "./webhooks.view.ts";

/** The number of concurrent attempts on each replica. */
const concurrency = 16;

export interface WebhookDeliverySettings
  extends Pick<WebhookSenderOptions, "timeoutMs" | "exchange" | "random" | "attempted"> {
  /** The time of continuous failures after which a webhook is disabled, in milliseconds. */
  readonly disableAfterMs: number;
  /** The time after which a webhook that does not catch up with the events is disabled, in milliseconds. */
  readonly behindAfterMs: number;
  /** The number of pending deliveries beyond which events wait. */
  readonly pendingLimit?: number;
}

export interface DeliverWebhooksOptions {
  readonly runner: CommandRunner;
  readonly jobs: JobQueue;
  readonly follower: OutboxFollower;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: WebhookDeliverySettings;
}

/**
 * Starts the delivery of queued messages. The caller runs the dispatcher periodically, and whenever `changed` is
 * called.
 *
 * @param changed called if there may be work for the dispatcher
 */
export function deliverWebhooks(options: DeliverWebhooksOptions, changed: () => void): WebhookDispatcher {
  const { runner, jobs, follower, clock, log, settings } = options;
  const limits = { ...deliveryLimits, pending: settings.pendingLimit ?? deliveryLimits.pending };
  const dispatcher = new WebhookDispatcher({ database: runner.database, jobs, clock, log, limits, changed });
  const sender = new WebhookSender({ runner, clock, ...settings });
  follower.subscribe({ changed, missed: changed });
  jobs.work({
    queue: "webhook-deliveries",
    concurrency,
    async perform(job, signal) {
      await sender.perform(job, signal);
      // The next delivery to the same webhook may have waited for this one.
      changed();
    },
  });
  return dispatcher;
}
