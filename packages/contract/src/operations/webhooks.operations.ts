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
    "Where to post: https, without user name, password or fragment. Addresses that are not globally reachable, and http, only within the networks that the installation allows.",
});

const Events = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
  maxItems: 100,
  uniqueItems: true,
  description:
    "What is delivered: `user.created` (a target type, and `created`, `updated` or `deleted`), `resource.*` (any change of that type), or the `operationId` of an operation, such as `reorderPolicies`. One that fits suffices. Empty for everything.",
});

const settings = {
  name: Type.Optional(Name),
  url: Type.Optional(Url),
  events: Type.Optional(Events),
  active: Type.Optional(Type.Boolean()),
  description: Type.Optional(Description),
};

const updating =
  'Absent fields stay as they are; `""` clears the description. Setting `active` to false gives up what was not delivered yet; a webhook that becomes active again begins at the present.';

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
    "From now on, each event that `events` names is posted to the URL, signed by the Standard Webhooks specification with the `secret` that is shown this once. The name is the URL's host where absent.",
  access: "webhooks:write",
  body: closedObject({ ...settings, url: Url }),
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
  description: updating,
  access: "webhooks:write",
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
  summary: "Change some fields of a webhook",
  description: updating,
  access: "webhooks:write",
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
  description: "With its delivery log; what was not delivered yet is given up.",
  access: "webhooks:write",
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
});

export const rotateWebhookSecret = operation({
  id: "rotateWebhookSecret",
  method: "POST",
  path: "/tenants/webhooks/{id}/rotate-secret",
  tag,
  summary: "Give a webhook a new secret",
  description:
    "The former secret also signs for `graceSeconds`, so that receivers can change over: the header then holds two signatures. One that is still signing from a rotation before ends at once.",
  access: "webhooks:write",
  parameters: { id: "uuid" },
  bodyOptional: true,
  body: closedObject({
    graceSeconds: Type.Optional(GraceSeconds),
  }),
  success: { status: 200, kind: "record", body: NewWebhook },
});

export const testWebhook = operation({
  id: "testWebhook",
  method: "POST",
  path: "/tenants/webhooks/{id}/test",
  tag,
  summary: "Send a test message",
  description: "A message of the type `webhook.test`, whatever `events` says. What comes of it is in the delivery log.",
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
  description: "The delivery log of the last 30 days. Ordered from the oldest on; see `sort`.",
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
  summary: "Deliver once more",
  description: "At once, with the same `webhook-id`, whatever came of it before; the retries begin anew.",
  access: "webhooks:write",
  parameters: { id: "uuid", deliveryId: "uuid" },
  success: { status: 200, kind: "record", body: WebhookDelivery },
  errors: ["webhook_inactive", "webhook_event_gone"],
});
