import * as webhooks from "@gatehouse/contract/operations/webhooks.operations";
import { type Actors, nothing, type OperationCase } from "./operation-case.ts";
import { makeId, unique, webhookUrl } from "./test-records.ts";

const existing = async ({ tenant }: Actors) => ({ parameters: { id: await makeId("webhook", tenant.client) } });

/** These tests deliver nothing, so the delivery keeps its first state. */
async function existingDelivery(actors: Actors) {
  const { parameters } = await existing(actors);
  const { body } = await actors.tenant.client.post(`/tenants/webhooks/${parameters.id}/test`);
  return { parameters: { ...parameters, deliveryId: String(body.id) } };
}

/** The target of a request, after its webhook was deactivated. */
async function inactive<P extends { readonly id: string }>(
  actors: Actors,
  request: Promise<{ readonly parameters: P }>,
): Promise<{ readonly parameters: P }> {
  const { parameters } = await request;
  await actors.tenant.client.must.patch(`/tenants/webhooks/${parameters.id}`, { active: false });
  return { parameters };
}

const newWebhook = () => ({ name: unique("Webhook"), url: webhookUrl, events: ["user.*"] });

export const webhookCases: readonly OperationCase[] = [
  { operation: webhooks.listWebhooks, prepare: nothing },
  {
    operation: webhooks.createWebhook,
    prepare: async (actors) => {
      await existing(actors); // deletes old webhooks if needed
      return { body: newWebhook() };
    },
  },
  { operation: webhooks.readWebhook, prepare: existing },
  {
    operation: webhooks.updateWebhook,
    prepare: async (actors) => ({ ...(await existing(actors)), body: { name: unique("Webhook") } }),
  },
  {
    operation: webhooks.patchWebhook,
    prepare: async (actors) => ({ ...(await existing(actors)), body: { events: ["resource.*", "createUsers"] } }),
  },
  { operation: webhooks.deleteWebhook, prepare: existing },
  {
    operation: webhooks.rotateWebhookSecret,
    prepare: async (actors) => ({ ...(await existing(actors)), body: { graceSeconds: 60 } }),
  },
  { operation: webhooks.testWebhook, prepare: existing, conflict: (actors) => inactive(actors, existing(actors)) },
  { operation: webhooks.listWebhookDeliveries, prepare: existing },
  { operation: webhooks.readWebhookDelivery, prepare: existingDelivery },
  {
    operation: webhooks.redeliverWebhook,
    prepare: existingDelivery,
    conflict: (actors) => inactive(actors, existingDelivery(actors)),
  },
];
