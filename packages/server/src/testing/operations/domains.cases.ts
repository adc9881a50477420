import * as operations from "@gatehouse/contract/operations/domains.operations";
import { type Actors, nothing, type OperationCase } from "./operation-case.ts";
import { makeId, unique } from "./test-records.ts";

const existing = async ({ tenant }: Actors) => ({ parameters: { id: await makeId("domain", tenant.client) } });

export const domainCases: readonly OperationCase[] = [
  { operation: operations.listDomains, prepare: nothing },
  {
    operation: operations.createDomain,
    prepare: async (actors) => {
      await existing(actors); // deletes old domains if needed
      return {
        body: {
          domain: `${unique("d")
            .toLowerCase()
            .replaceAll(/[^a-z0-9]/g, "")}.example`,
        },
      };
    },
  },
  { operation: operations.readDomain, prepare: existing },
  { operation: operations.verifyDomain, prepare: existing },
  { operation: operations.deleteDomain, prepare: existing },
];
