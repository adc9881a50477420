import type { NewWebhook, Webhook, WebhookDelivery } from "@gatehouse/contract/records/webhook";
import type { DeliveryRow } from "./webhook-deliveries.queries.ts";
import type { WebhookRow } from "./webhooks.queries.ts";

export function webhookView(row: WebhookRow): Webhook {
  return {
    id: row.id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    name: row.name,
    url: row.url,
    events: row.events,
    active: row.active,
    ...(row.description === "" ? {} : { description: row.description }),
    ...(row.disabled_reason === null ? {} : { disabledReason: row.disabled_reason }),
    ...(row.disabled_at === null ? {} : { disabledAt: row.disabled_at }),
    ...(row.failing_since === null ? {} : { failingSince: row.failing_since }),
    ...(row.behind_since === null ? {} : { behindSince: row.behind_since }),
  };
}

/** A webhook with its secret, for the one answer that shows it. */
export function newWebhookView(row: WebhookRow, secret: string): NewWebhook {
  return { ...webhookView(row), secret };
}

export function deliveryView(row: DeliveryRow): WebhookDelivery {
  return {
    id: row.id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    webhookId: row.webhook_id,
    ...(row.event_id === null ? {} : { eventId: row.event_id }),
    type: row.type,
    status: row.status,
    attempts: row.attempts,
    nextAttemptAt: row.next_attempt_at,
  };
}
