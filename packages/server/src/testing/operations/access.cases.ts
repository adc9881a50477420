import * as access from "@gatehouse/contract/operations/access.operations";
import type { Actors, OperationCase } from "./operation-case.ts";
import { make, unique } from "./test-records.ts";

const action = { name: "connect" };

/** Creates a user that a policy names, and a resource; different ones for each call. */
async function question({ tenant }: Actors) {
  const [device, resource] = [await make("device", tenant.client), await make("resource", tenant.client)];
  const policy = {
    name: unique("Policy"),
    type: "PRIVATE",
    action: true,
    users: [device.user.id],
    resources: [resource.id],
  };
  await tenant.client.must.post("/tenants/policies", policy);
  return {
    subject: { type: "user", id: String(device.user.email), properties: { department: "Engineering" } },
    resource: { type: "resource", id: String(resource.id) },
    context: { deviceId: String(device.id), sourceIp: "192.0.2.7", country: "DE", time: "2026-03-04T10:00:00Z" },
  };
}

export const accessCases: readonly OperationCase[] = [
  {
    operation: access.evaluateAccess,
    prepare: async (actors) => {
      const { context, ...asked } = await question(actors);
      return { body: { ...asked, action, context: { ...context, explain: true } } };
    },
  },
  {
    operation: access.evaluateAccessBatch,
    prepare: async (actors) => {
      const { resource, ...asked } = await question(actors);
      const address = { type: "address", id: "git.example.com", properties: { protocol: "TCP", port: 8443 } };
      return {
        body: {
          ...asked,
          action,
          evaluations: [{ resource }, { resource: address }],
          options: { evaluations_semantic: "execute_all" },
        },
      };
    },
  },
  {
    operation: access.searchSubjects,
    prepare: async (actors) => {
      const { resource, context } = await question(actors);
      return { body: { subject: { type: "user" }, action, resource, context, page: { limit: 10 } } };
    },
  },
  {
    operation: access.searchResources,
    prepare: async (actors) => {
      const { subject, context } = await question(actors);
      return { body: { subject, action, resource: { type: "resource" }, context, page: { limit: 10 } } };
    },
  },
  { operation: access.searchActions, prepare: async (actors) => ({ body: await question(actors) }) },
  {
    operation: access.listPastAccess,
    prepare: async (actors) => {
      const { subject, context } = await question(actors);
      const { deviceId, sourceIp, country } = context;
      return { query: { user: subject.id, device: deviceId, sourceIp, country } };
    },
  },
  { operation: access.readAccessHistory, prepare: async () => ({ query: { at: "2026-03-04T10:00:00Z" } }) },
  {
    operation: access.findAccessFindings,
    prepare: async (actors) => {
      await question(actors);
      return {};
    },
  },
];
