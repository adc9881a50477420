/** The deletion of a resource that policies name: the policies lose the resource in the same change set. */
import type { GatehouseError } from "@gatehouse/client/errors";
import { api } from "../../app/api.ts";
import { t } from "../../messages/i18n.ts";
import type { PlannedChange } from "../../records/planned-change.ts";
import type { Remedy } from "../../records/reviewed-change.tsx";
import { readRecord, type Versioned } from "../../records/use-record.ts";

/** A change set has at most 100 changes, and the deletion is one of them. */
const mostPolicies = 99;

export function removeFromPolicies(resource: Versioned<{ readonly id: string }>, error: GatehouseError) {
  // An error of a preview also points to the change.
  const count = error.errors.filter(({ pointer }) => pointer.startsWith("/tenants/policies/")).length;
  if (error.code !== "resource_in_use" || count === 0 || count > mostPolicies) return undefined;
  return {
    label: t("resources.delete.fromPolicies", { count }),
    changes: () => changesOf(resource),
  } satisfies Remedy;
}

async function changesOf({ record: { id }, etag }: Versioned<{ readonly id: string }>): Promise<PlannedChange[]> {
  const { data } = await api.get("/tenants/policies", {
    query: { "filter[resources.id]": id, "filter[active]": true, limit: mostPolicies },
  });
  const policies = await Promise.all(data.map((policy) => readRecord("/tenants/policies/{id}", policy.id)));
  return [
    ...policies.map(
      ({ record: policy, etag: version }): PlannedChange => ({
        method: "PATCH",
        path: `/tenants/policies/${policy.id}`,
        body: { resources: policy.resources.flatMap((named) => (named.id === id ? [] : [named.id])) },
        ifMatch: version,
      }),
    ),
    { method: "DELETE", path: `/tenants/resources/${id}`, ifMatch: etag },
  ];
}
