import Type from "typebox";
import { list } from "../list.ts";
import { operation } from "../operation.ts";
import { deliveryStatuses, NewWebhook, Webhook, WebhookDelivery } from "../records/webhook.ts";
import { closedObject, Description, GraceSeconds, Name } from "../schema.ts";

const tag = "Webhooks";

const Url = Type.String({
  minLength: 1,
  maxLength: 2000,
  description:
    "URL that messages are posted to: https, without user name, password or fragment. Plain http, and addresses that are not globally reachable, are allowed only in networks that the operator has configured.",
});

const Events = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
  maxItems: 100,
  uniqueItems: true,
  description:
    "Event types to deliver: `user.created` (a target type with `created`, `updated` or `deleted`), `resource.*` (any change of that type), or the `operationId` of an operation, such as `reorderPolicies`. An event is delivered if any entry matches. Empty for all events.",
});

const settings = {
  name: Type.Optional(Name),
  url: Type.Optional(Url),
  events: Type.Optional(Events),
  active: Type.Optional(Type.Boolean()),
  description: Type.Optional(Description),
};

const updateDescription =
  'Omitted fields stay unchanged; `""` clears the description. Setting `active` to false discards undelivered messages; a webhook that becomes active again starts with new events.';

export const listWebhooks = operation({
  id: "listWebhooks",
  method: "GET",
  path: "/tenants/webhooks",
  tag,
  summary: "List webhooks",
  access: "webhooks:read",
  success: { status: 200, kind: "array", item: Webhook },
});

export const createWebhook = operation({
  id: "createWebhook",
  method: "POST",
  path: "/tenants/webhooks",
  tag,
  summary: "Create a webhook",
  description:
    "Each new event that matches `events` is posted to the URL. Messages are signed as in the Standard Webhooks specification, with the `secret` that is shown only once. Without a name, the webhook is named after the URL's host.",
  access: "webhooks:write",
  dangerous: "the receiver gets events after the end of the session",
  body: closedObject({ ...settings, url: Url }),
  refusedInSets: "its response shows a secret once",
  success: { status: 201, kind: "record", body: NewWebhook },
  errors: ["invalid_webhook_url", "unknown_event_type", "webhook_limit_reached"],
});

export const readWebhook = operation({
  id: "readWebhook",
  method: "GET",
  path: "/tenants/webhooks/{id}",
  tag,
  summary: "Read a webhook",
  access: "webhooks:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Webhook },
});

export const updateWebhook = operation({
  id: "updateWebhook",
  method: "PUT",
  path: "/tenants/webhooks/{id}",
  tag,
  summary: "Update a webhook",
  description: updateDescription,
  access: "webhooks:write",
  dangerous: "the receiver gets events after the end of the session",
  dangerousWith: ["url"],
  parameters: { id: "uuid" },
  body: closedObject(settings),
  success: { status: 200, kind: "record", body: Webhook },
  errors: ["invalid_webhook_url", "unknown_event_type"],
});

export const patchWebhook = operation({
  id: "patchWebhook",
  method: "PATCH",
  path: "/tenants/webhooks/{id}",
  tag,
  summary: "Update a webhook",
  description: updateDescription,
  access: "webhooks:write",
  dangerous: "the receiver gets events after the end of the session",
  dangerousWith: ["url"],
  parameters: { id: "uuid" },
  body: closedObject(settings),
  success: { status: 200, kind: "record", body: Webhook },
  errors: ["invalid_webhook_url", "unknown_event_type"],
});

export const deleteWebhook = operation({
  id: "deleteWebhook",
  method: "DELETE",
  path: "/tenants/webhooks/{id}",
  tag,
  summary: "Delete a webhook",
  description: "Deletes the webhook and its delivery log. Undelivered messages are discarded.",
  access: "webhooks:write",
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
});

export const rotateWebhookSecret = operation({
  id: "rotateWebhookSecret",
  method: "POST",
  path: "/tenants/webhooks/{id}/rotate-secret",
  tag,
  summary: "Rotate a webhook's secret",
  description:
    "The previous secret also signs messages for `graceSeconds`, so that receivers can switch over: the header then contains two signatures. A secret from an earlier rotation stops signing immediately.",
  access: "webhooks:write",
  dangerous: "the secret outlives the session",
  parameters: { id: "uuid" },
  bodyOptional: true,
  body: closedObject({
    graceSeconds: Type.Optional(GraceSeconds),
  }),
  refusedInSets: "its response shows a secret once",
  success: { status: 200, kind: "record", body: NewWebhook },
});

export const testWebhook = operation({
  id: "testWebhook",
  method: "POST",
  path: "/tenants/webhooks/{id}/test",
  tag,
  summary: "Send a test message",
  description:
    "Sends a message of type `webhook.test`, regardless of `events`. The result appears in the delivery log.",
  access: "webhooks:write",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: WebhookDelivery },
  errors: ["webhook_inactive"],
});

export const listWebhookDeliveries = operation({
  id: "listWebhookDeliveries",
  method: "GET",
  path: "/tenants/webhooks/{id}/deliveries",
  tag,
  summary: "List a webhook's deliveries",
  description:
    "The delivery log of the last 30 days, ordered from oldest to newest; see `sort`. It contains at most the newest 5,000 delivered and the newest 5,000 failed messages.",
  access: "webhooks:read",
  parameters: { id: "uuid" },
  success: {
    status: 200,
    kind: "page",
    item: WebhookDelivery,
    list: list({
      sort: ["id", "createdAt", "updatedAt"],
      filter: {
        id: { kind: "uuid" },
        createdAt: { kind: "timestamp" },
        status: { kind: "enum", values: deliveryStatuses },
        type: { kind: "text" },
        eventId: { kind: "uuid" },
      },
    }),
  },
});

export const readWebhookDelivery = operation({
  id: "readWebhookDelivery",
  method: "GET",
  path: "/tenants/webhooks/{id}/deliveries/{deliveryId}",
  tag,
  summary: "Read a delivery",
  access: "webhooks:read",
  parameters: { id: "uuid", deliveryId: "uuid" },
  success: { status: 200, kind: "record", body: WebhookDelivery },
});

export const redeliverWebhook = operation({
  id: "redeliverWebhook",
  method: "POST",
  path: "/tenants/webhooks/{id}/deliveries/{deliveryId}/redeliver",
  tag,
  summary: "Redeliver a message",
  description:
    "Sends the message again immediately, with the same `webhook-id`, regardless of earlier results. Retries start over.",
  access: "webhooks:write",
  parameters: { id: "uuid", deliveryId: "uuid" },
  success: { status: 200, kind: "record", body: WebhookDelivery },
  errors: ["webhook_inactive", "webhook_event_gone"],
});
