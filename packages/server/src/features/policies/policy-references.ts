/** References that policies hold. */
import type { BlockingRecords, NamedRecord } from "../../platform/record-references.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import type { ReferenceHolder } from "../references/references.api.ts";
import {
  activePoliciesWithResource,
  policiesWithGateway,
  policiesWithRule,
  removeFromPolicies,
} from "./policy-references.queries.ts";

/**
 * A deleted user, device, group or resource disappears from all policies. A resource must first disappear from active
 * policies, a gateway and an admission rule from all policies.
 */
export const policyReferences: ReferenceHolder = {
  user: {
    async remove(tx, granted, { id, name: email }) {
      recordRemoval(tx, await removeFromPolicies(tx, granted, "users", id), { user: { id, email } });
    },
  },
  device: {
    async remove(tx, granted, device) {
      recordRemoval(tx, await removeFromPolicies(tx, granted, "devices", device.id), { device });
    },
  },
  group: {
    async remove(tx, granted, group) {
      recordRemoval(tx, await removeFromPolicies(tx, granted, "groups", group.id), { group });
    },
  },
  resource: {
    async blocking(tx, id) {
      return blocking("Active policies", await activePoliciesWithResource(tx, id));
    },
    async remove(tx, granted, resource) {
      recordRemoval(tx, await removeFromPolicies(tx, granted, "resources", resource.id), { resource });
    },
  },
  gateway: {
    async blocking(tx, id) {
      return blocking("Policies", await policiesWithGateway(tx, id));
    },
  },
  "admission-rule": {
    async blocking(tx, id) {
      return blocking("Policies", await policiesWithRule(tx, id));
    },
  },
};

function blocking(title: string, policies: readonly NamedRecord[]): BlockingRecords | undefined {
  return policies.length === 0 ? undefined : { title, path: "/tenants/policies", records: policies };
}

/**
 * The audit entries hold only the removed reference: a policy may name thousands of records, and many policies may name
 * one record.
 */
function recordRemoval(tx: CommandTx, policies: readonly NamedRecord[], removed: object): void {
  for (const { id, name } of policies) {
    tx.record({ type: "policy", id, name, before: { id, name, ...removed }, after: { id, name } });
  }
}
