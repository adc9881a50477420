import type * as operations from "@gatehouse/contract/operations/webhooks.operations";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import { newId } from "../../platform/ids.ts";
import { type Outcome, record } from "../../platform/outcome.ts";
import { hasEvent } from "../events/events.api.ts";
import * as queries from "./webhook-deliveries.queries.ts";
import { lockWebhook, readWebhook, type WebhookRow } from "./webhooks.queries.ts";
import { deliveryView } from "./webhooks.view.ts";

export async function listWebhookDeliveries(call: Call<typeof operations.listWebhookDeliveries>): Promise<Outcome> {
  const { id } = call.parameters;
  const [webhook, { rows, total }] = await call.read((tx) =>
    Promise.all([readWebhook(tx, id), queries.listDeliveries(tx, id, call.listQuery)]),
  );
  if (webhook === undefined) throw new AppError("not_found");
  return { kind: "page", page: pageOfItems(call.listQuery, rows.map(deliveryView), total) };
}

export async function readWebhookDelivery(call: Call<typeof operations.readWebhookDelivery>): Promise<Outcome> {
  const { id, deliveryId } = call.parameters;
  const row = await call.read((tx) => queries.readDelivery(tx, id, deliveryId));
  if (row === undefined) throw new AppError("not_found");
  return record(deliveryView(row), row.version);
}

export async function testWebhook(call: Call<typeof operations.testWebhook>): Promise<Outcome> {
  return call.command(async (tx) => {
    const webhook = await lockWebhook(tx, call.parameters.id);
    if (webhook === undefined) throw new AppError("not_found");
    call.requireVersion(webhook.version);
    requireActive(webhook);
    const row = await queries.insertTestDelivery(tx, call.granted, webhook.id, newId(), call.now);
    tx.record({ type: "webhook-delivery", id: row.id, name: webhook.name, after: deliveryView(row) });
    return record(deliveryView(row), row.version);
  });
}

export async function redeliverWebhook(call: Call<typeof operations.redeliverWebhook>): Promise<Outcome> {
  const { id, deliveryId } = call.parameters;
  return call.command(async (tx) => {
    const webhook = await lockWebhook(tx, id);
    const row = webhook === undefined ? undefined : await queries.lockDelivery(tx, id, deliveryId);
    if (webhook === undefined || row === undefined) throw new AppError("not_found");
    call.requireVersion(row.version);
    requireActive(webhook);
    if (row.event_id !== null && !(await hasEvent(tx, row.event_id))) {
      throw new AppError("webhook_event_gone");
    }
    const restarted = await queries.restartDelivery(tx, call.granted, row.id, call.now);
    const views = { before: deliveryView(row), after: deliveryView(restarted) };
    tx.record({ type: "webhook-delivery", id: row.id, name: webhook.name, ...views });
    return record(deliveryView(restarted), restarted.version);
  });
}

/** @throws AppError webhook_inactive */
function requireActive({ active, name }: WebhookRow): void {
  if (!active) throw new AppError("webhook_inactive", { detail: `The webhook ${JSON.stringify(name)} is not active.` });
}
