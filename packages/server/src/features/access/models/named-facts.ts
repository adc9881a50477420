/** Which facts a command's changes may have changed. Pure. */
import type { Change } from "../../../platform/change.ts";
import type { FactRows, NamedFacts } from "./facts.queries.ts";
import { mostChanges } from "./kept-model.ts";

const rowsOfType: Readonly<Partial<Record<Change["type"], keyof FactRows>>> = {
  user: "users",
  group: "groups",
  device: "devices",
  gateway: "gateways",
  resource: "resources",
  "admission-rule": "rules",
  policy: "policies",
};

export interface NamedByChanges extends NamedFacts {
  /** Policies beside which others may stand in another order than before. */
  readonly reordered: readonly string[];
}

/** @returns undefined where the changes leave open what may be others now, or name so much that everything is to be read */
export function namedByChanges(changes: readonly Change[]): NamedByChanges | undefined {
  const ids: Record<keyof FactRows, Set<string>> = {
    users: new Set(),
    groups: new Set(),
    devices: new Set(),
    gateways: new Set(),
    resources: new Set(),
    rules: new Set(),
    policies: new Set(),
  };
  const reordered = new Set<string>();
  for (const change of changes) {
    const { type, id, before, after } = change;
    const rows = rowsOfType[type];
    if (rows !== undefined) ids[rows].add(id);
    else if (type === "address") {
      const resource = resourceOf(after ?? before);
      if (resource === undefined) return undefined;
      ids.resources.add(resource);
    }
    // A new tenant has records that no entry names. Protocols do not know which resources use them.
    else if (type === "tenant" || (type === "protocol" && before !== undefined && after !== undefined))
      return undefined;
    if (type === "policy" && mayMoveOthers(before, after)) reordered.add(id);
  }
  const count = Object.values(ids).reduce((sum, { size }) => sum + size, 0);
  if (count > mostChanges) return undefined;
  const { users, groups, devices, gateways, resources, rules, policies } = ids;
  return {
    users: [...users],
    groups: [...groups],
    devices: [...devices],
    gateways: [...gateways],
    resources: [...resources],
    rules: [...rules],
    policies: [...policies],
    reordered: [...reordered],
  };
}

/** The resource that an address's entry names. */
function resourceOf(state: object | undefined): string | undefined {
  const { resource } = (state ?? {}) as { readonly resource?: { readonly id?: string } }; // `auditedAddress`
  return resource?.id;
}

/** One that goes takes nothing from the order of the others; one that only changes shows no order, or the same as before. */
function mayMoveOthers(before: object | undefined, after: object | undefined): boolean {
  return after !== undefined && (before === undefined || orderIn(before) !== orderIn(after));
}

function orderIn(state: object): unknown {
  return "order" in state ? state.order : undefined;
}
