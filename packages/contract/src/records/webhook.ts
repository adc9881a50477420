import Type, { type Static } from "typebox";
import { component, Description, identity, Name, nullable, oneOf, Timestamp, Uuid } from "../schema.ts";

/** Reasons why Gatehouse deactivates a webhook. */
export const disabledReasons = ["GONE", "FAILING", "BEHIND"] as const;
export type DisabledReason = (typeof disabledReasons)[number];

const webhookFields = {
  ...identity,
  name: Name,
  url: Type.String(),
  events: Type.Array(Type.String(), {
    description:
      "Event types to deliver: `user.created`, `resource.*`, or the `operationId` of an operation; empty for all events.",
  }),
  active: Type.Boolean(),
  description: Type.Optional(Description),
  disabledReason: Type.Optional(
    oneOf(disabledReasons, {
      description:
        "Why Gatehouse set `active` to false: the receiver returned 410 Gone, every attempt failed for days, or the webhook was behind for days.",
    }),
  ),
  disabledAt: Type.Optional(Timestamp),
  failingSince: Type.Optional(
    Type.Unsafe<string>({
      ...Timestamp,
      description: "Time of the first failed attempt since the last successful one.",
    }),
  ),
  behindSince: Type.Optional(
    Type.Unsafe<string>({
      ...Timestamp,
      description:
        "Time since which new events wait because too many messages are pending. Omitted after the webhook has caught up.",
    }),
  ),
};

export const Webhook = component("Webhook", "A receiver of a tenant's events, without its secret.", webhookFields);
export type Webhook = Static<typeof Webhook>;

export const NewWebhook = component("NewWebhook", "A webhook with its secret, which is shown only once.", {
  ...webhookFields,
  secret: Type.String({ description: "`whsec_` and the signing key in base64 (Standard Webhooks)." }),
});
export type NewWebhook = Static<typeof NewWebhook>;

export const deliveryStatuses = ["PENDING", "DELIVERED", "FAILED"] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

const WebhookAttempt = component("WebhookAttempt", "One request to a webhook's URL and its result.", {
  at: Timestamp,
  statusCode: Type.Optional(Type.Integer({ description: "Status of the response; omitted if there was none." })),
  error: Type.Optional(Type.String({ description: "Why the attempt failed; omitted if it succeeded." })),
  durationMs: Type.Integer({ minimum: 0 }),
});
export type WebhookAttempt = Static<typeof WebhookAttempt>;

export const WebhookDelivery = component(
  "WebhookDelivery",
  "A message to a webhook. The delivery's id is the header `webhook-id`.",
  {
    ...identity,
    webhookId: Uuid,
    eventId: Type.Optional(
      Type.Unsafe<string>({ ...Uuid, description: "Id of the event; omitted for a test message." }),
    ),
    type: Type.String({ description: "`<target type>.created`, `.updated` or `.deleted`; or `webhook.test`." }),
    status: oneOf(deliveryStatuses),
    attempts: Type.Array(WebhookAttempt, {
      description:
        "The last 30 attempts, from oldest to newest. Consecutive ones for which the server had no space count as one.",
    }),
    nextAttemptAt: nullable(Timestamp),
  },
);
export type WebhookDelivery = Static<typeof WebhookDelivery>;
