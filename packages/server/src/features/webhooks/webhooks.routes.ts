import * as operations from "@gatehouse/contract/operations/webhooks.operations";
import { type Route, route } from "../../http/route.ts";
import * as deliveries from "./webhook-deliveries.commands.ts";
import * as webhooks from "./webhooks.commands.ts";

export const webhookRoutes: readonly Route[] = [
  route(operations.listWebhooks, webhooks.listWebhooks),
  route(operations.createWebhook, webhooks.createWebhook),
  route(operations.readWebhook, webhooks.readWebhook),
  route(operations.updateWebhook, webhooks.updateWebhook),
  route(operations.patchWebhook, webhooks.updateWebhook),
  route(operations.deleteWebhook, webhooks.deleteWebhook),
  route(operations.rotateWebhookSecret, webhooks.rotateWebhookSecret),
  route(operations.testWebhook, deliveries.testWebhook),
  route(operations.listWebhookDeliveries, deliveries.listWebhookDeliveries),
  route(operations.readWebhookDelivery, deliveries.readWebhookDelivery),
  route(operations.redeliverWebhook, deliveries.redeliverWebhook),
];
