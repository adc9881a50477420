import type { ResourceRow, StoredResource } from "./resources.queries.ts";

/** A resource as an update writes it if nothing but its version changes. */
export function storedResource(row: ResourceRow): StoredResource {
  const { id, name, type, description, load_balancing_mode: loadBalancingMode } = row;
  return { id, name, type, description, loadBalancingMode };
}
