/** The limit of the ports of a resource. It bounds the size of its record, which lists them at each address. */
import { resourceLimits } from "@gatehouse/contract/operations/resources.operations";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { portsOfResource } from "./addresses.queries.ts";

/** The protocols of addresses before and after a command, with an empty list for a new address. */
export interface ChangedProtocols {
  readonly resourceId: string;
  /** JSON Pointer of the lists in the body. */
  readonly pointer: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/**
 * Refuses more ports for a resource than it can have. A resource that has more already can get fewer. Must run before
 * the change, and after the resource is locked, unless it is new.
 *
 * @throws AppError too_many_ports
 */
export async function requirePortLimit(
  tx: TenantTx,
  { resourceId, pointer, before, after }: ChangedProtocols,
): Promise<void> {
  const uses = new Map<string, number>();
  for (const id of after) uses.set(id, (uses.get(id) ?? 0) + 1);
  for (const id of before) uses.set(id, (uses.get(id) ?? 0) - 1);
  const changed = [...uses].filter(([, count]) => count !== 0);
  if (!changed.some(([, count]) => count > 0)) return;
  const { stored, added } = await portsOfResource(tx, resourceId, changed);
  const message = added > 0 ? portProblem(stored + added) : undefined;
  if (message !== undefined) throw new AppError("too_many_ports", { errors: [bodyField(pointer, message)] });
}

/** The problem of a resource with so many ports, or undefined. */
export function portProblem(ports: number): string | undefined {
  if (ports <= resourceLimits.ports) return undefined;
  const count = (number: number) => number.toLocaleString("en");
  return `the protocols of all addresses of the resource would list ${count(ports)} ports and ranges; the limit is ${count(resourceLimits.ports)}`;
}
