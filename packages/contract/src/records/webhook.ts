import Type, { type Static } from "typebox";
import { component, Description, identity, Name, nullable, oneOf, Timestamp, Uuid } from "../schema.ts";

/** Why Gatehouse itself disabled a webhook. */
export const disabledReasons = ["GONE", "FAILING"] as const;
export type DisabledReason = (typeof disabledReasons)[number];

const webhookFields = {
  ...identity,
  name: Name,
  url: Type.String(),
  events: Type.Array(Type.String(), {
    description:
      "What is delivered: `user.created`, `resource.*`, or the `operationId` of an operation; empty for everything.",
  }),
  active: Type.Boolean(),
  description: Type.Optional(Description),
  disabledReason: Type.Optional(
    oneOf(disabledReasons, {
      description:
        "Why Gatehouse set `active` to false: the receiver answered 410 Gone, or every attempt failed for days.",
    }),
  ),
  disabledAt: Type.Optional(Timestamp),
  failingSince: Type.Optional(
    Type.Unsafe<string>({ ...Timestamp, description: "The first failed attempt since the last successful one." }),
  ),
};

export const Webhook = component(
  "Webhook",
  "Where a tenant's events are delivered, without its secret.",
  webhookFields,
);
export type Webhook = Static<typeof Webhook>;

export const NewWebhook = component("NewWebhook", "A webhook with its secret, which is shown this once.", {
  ...webhookFields,
  secret: Type.String({ description: "`whsec_` and the signing key in base64 (Standard Webhooks)." }),
});
export type NewWebhook = Static<typeof NewWebhook>;

export const deliveryStatuses = ["PENDING", "DELIVERED", "FAILED"] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

const WebhookAttempt = component("WebhookAttempt", "One request to a webhook's URL, and what came of it.", {
  at: Timestamp,
  statusCode: Type.Optional(Type.Integer({ description: "Absent where no answer came." })),
  error: Type.Optional(Type.String({ description: "Why the attempt failed; absent where it did not." })),
  durationMs: Type.Integer({ minimum: 0 }),
});
export type WebhookAttempt = Static<typeof WebhookAttempt>;

export const WebhookDelivery = component("WebhookDelivery", "One message to one webhook; its id is the `webhook-id`.", {
  ...identity,
  webhookId: Uuid,
  eventId: Type.Optional(Type.Unsafe<string>({ ...Uuid, description: "The event; absent for a test." })),
  type: Type.String({ description: "`<target type>.<created, updated or deleted>`, or `webhook.test`." }),
  status: oneOf(deliveryStatuses),
  attempts: Type.Array(WebhookAttempt, { description: "From the oldest on; the latest 30 are kept." }),
  nextAttemptAt: nullable(Timestamp),
});
export type WebhookDelivery = Static<typeof WebhookDelivery>;
