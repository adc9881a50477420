import { revertEvent } from "@gatehouse/contract/operations/reverts.operations";
import type { TestClient } from "../test-server.ts";
import type { OperationCase } from "./operation-case.ts";
import { make, makeId, unique } from "./test-records.ts";

/** The newest event about a record. */
async function lastEventOf(client: TestClient, id: string): Promise<string> {
  return (await client.get(`/tenants/events?filter[target.id]=${id}&sort=-position&limit=1`)).body.data[0].id;
}

export const revertCases: readonly OperationCase[] = [
  {
    operation: revertEvent,
    prepare: async ({ tenant: { client } }) => {
      const { id } = await make("group", client);
      await client.put(`/tenants/groups/${id}`, { name: unique("Group") });
      return { parameters: { id: await lastEventOf(client, id) } };
    },
    conflict: async ({ tenant: { client } }) => ({
      parameters: { id: await lastEventOf(client, await makeId("api-key", client)) },
    }),
  },
];
