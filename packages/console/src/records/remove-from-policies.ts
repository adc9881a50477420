/** The deletion of a record that policies name: the policies lose the record in the same change set. */
import type { GatehouseError } from "@gatehouse/client/errors";
import { api } from "../app/api.ts";
import { formatList } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";
import type { PlannedChange } from "./planned-change.ts";
import type { Remedy } from "./reviewed-change.tsx";
import { readRecord, type Versioned } from "./use-record.ts";

type Deleted = Versioned<{ readonly id: string }>;

/** A change set has at most 100 changes, and the deletion is one of them. */
const mostPolicies = 99;
const policyPath = /^\/tenants\/policies\/([0-9a-f-]{36})$/;

export function removeResource(resource: Deleted, error: GatehouseError): Remedy | undefined {
  return remedyFor("resource_in_use", error, async () => {
    const { id } = resource.record;
    const { data } = await api.get("/tenants/policies", {
      query: { "filter[resources.id]": id, "filter[active]": true, limit: mostPolicies },
    });
    const policies = await readPolicies(data.map((policy) => policy.id));
    return [
      ...policies.map(({ record: policy, etag }) =>
        patch(policy.id, { resources: idsWithout(policy.resources, id) }, etag),
      ),
      deletion(`/tenants/resources/${id}`, resource),
    ];
  });
}

/** A policy that names no other gateway would allow all gateways afterwards, so a person has to change that policy. */
export function removeGateway(gateway: Deleted, error: GatehouseError): Remedy | undefined {
  return remedyFor("gateway_in_use", error, async () => {
    const { id } = gateway.record;
    const policies = await readPolicies(policiesIn(error));
    const only = policies.filter(({ record }) => record.gateways.every((named) => named.id === id));
    if (only.length > 0) {
      return t("gateways.delete.onlyGateway", { names: formatList(only.map(({ record }) => record.name)) });
    }
    return [
      ...policies.map(({ record: policy, etag }) =>
        patch(policy.id, { gateways: idsWithout(policy.gateways, id) }, etag),
      ),
      deletion(`/tenants/gateways/${id}`, gateway),
    ];
  });
}

function remedyFor(code: string, error: GatehouseError, changes: Remedy["changes"]): Remedy | undefined {
  // An error of a preview also points to the change.
  const count = policiesIn(error).length;
  if (error.code !== code || count === 0 || count > mostPolicies) return undefined;
  return { label: t("records.removeFromPolicies", { count }), changes };
}

function policiesIn({ errors }: GatehouseError): readonly string[] {
  return errors.flatMap(({ pointer }) => policyPath.exec(pointer)?.[1] ?? []);
}

function readPolicies(ids: readonly string[]) {
  return Promise.all(ids.map((id) => readRecord("/tenants/policies/{id}", id)));
}

function idsWithout(named: readonly { readonly id: string }[], removed: string): readonly string[] {
  return named.flatMap(({ id }) => (id === removed ? [] : [id]));
}

function patch(id: string, body: object, ifMatch: string): PlannedChange {
  return { method: "PATCH", path: `/tenants/policies/${id}`, body, ifMatch };
}

function deletion(path: string, { etag }: Deleted): PlannedChange {
  return { method: "DELETE", path, ifMatch: etag };
}
