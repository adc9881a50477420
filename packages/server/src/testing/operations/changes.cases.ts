import { applyChanges } from "@gatehouse/contract/operations/changes.operations";
import type { OperationCase } from "./operation-case.ts";
import { make, unique, uniqueEmail } from "./test-records.ts";

const group = (name: string) => ({ method: "POST", path: "/tenants/groups", body: { name, roles: [] } });

export const changeCases: readonly OperationCase[] = [
  {
    operation: applyChanges,
    prepare: async () => ({
      body: {
        changes: [
          { ...group(unique("Group")), as: "staff" },
          { method: "POST", path: "/tenants/users", body: { email: uniqueEmail() }, as: "ada" },
          { method: "POST", path: "/tenants/users/@ada/groups", body: { groupId: "@staff" } },
        ],
      },
    }),
    conflict: async ({ tenant }) => ({
      body: { changes: [group(unique("Group")), group((await make("group", tenant.client)).name)] },
    }),
  },
];
