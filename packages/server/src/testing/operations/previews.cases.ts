import { previewAccess } from "@gatehouse/contract/operations/previews.operations";
import type { OperationCase } from "./operation-case.ts";
import { make, makeId, unique } from "./test-records.ts";

const creation = (name: string) => ({
  method: "POST",
  path: "/tenants/policies",
  body: { name, type: "PRIVATE", action: true, allUsers: true, allResources: true },
});

export const previewCases: readonly OperationCase[] = [
  {
    operation: previewAccess,
    prepare: async ({ tenant }) => ({
      body: {
        changes: [
          creation(unique("Policy")),
          { method: "PATCH", path: `/tenants/users/${await makeId("user", tenant.client)}/deactivate` },
        ],
        context: { country: "DE", time: "2026-01-31T12:00:00Z" },
        page: { limit: 10, offset: 0 },
      },
    }),
    conflict: async ({ tenant }) => ({
      body: { changes: [creation((await make("policy", tenant.client)).name)] },
    }),
  },
];
