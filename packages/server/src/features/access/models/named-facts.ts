/** The facts that a command may have changed, by its audit changes. Pure. */
import { isDeepStrictEqual } from "node:util";
import type { Change } from "../../../platform/change.ts";
import { reloadAbove } from "../../../platform/projection/changed-records.ts";
import type { FactRows, NamedFacts } from "./facts.queries.ts";

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
  /** Users whose groups changed. The ends of their devices' sessions depend on their groups. */
  readonly regrouped: readonly string[];
  /** Policies whose type may have another order. */
  readonly reordered: readonly string[];
  /** Protocols whose ports changed. */
  readonly protocols: readonly string[];
  /** Whether the ends of the sessions of all devices may have changed. */
  readonly allDevices: boolean;
}

/**
 * @returns undefined if the changes do not name all facts that they may have changed, or name so many that reading
 * everything is cheaper
 */
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
  const regrouped = new Set<string>();
  const protocols = new Set<string>();
  let allDevices = false;
  const count = () => Object.values(ids).reduce((sum, { size }) => sum + size, 0);
  for (const [index, change] of changes.entries()) {
    if (index % reloadAbove === 0 && count() > reloadAbove) return undefined;
    const { type, id, before, after } = change;
    const rows = rowsOfType[type];
    if (rows !== undefined) {
      ids[rows].add(id);
      // The resources that lose the gateway have no entries, unless a document deletes it.
      const losing = type === "gateway" && after === undefined ? idsIn(listIn(before, "resources")) : [];
      for (const each of losing) ids.resources.add(each);
    } else if (type === "address") {
      const resource = resourceOf(after ?? before);
      if (resource === undefined) return undefined;
      ids.resources.add(resource);
    }
    // A new tenant has records that no entry names.
    else if (type === "tenant") return undefined;
    // The ends of device sessions depend on the settings.
    else if (type === "tenant-settings") allDevices = true;
    else if (type === "protocol" && before !== undefined && after !== undefined) protocols.add(id);
    // The ends of the sessions of all members' devices depend on the lifetime.
    if (type === "group" && lifetimeIn(before) !== lifetimeIn(after) && before !== undefined) return undefined;
    if (type === "user" && !isDeepStrictEqual(listIn(before, "groups"), listIn(after, "groups"))) regrouped.add(id);
    if (type === "policy" && mayMoveOthers(before, after)) reordered.add(id);
  }
  if (count() > reloadAbove) return undefined;
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
    regrouped: [...regrouped],
    protocols: [...protocols],
    allDevices,
  };
}

/** The resource in the entry of an address. */
function resourceOf(state: object | undefined): string | undefined {
  const { resource } = (state ?? {}) as { readonly resource?: { readonly id?: string } }; // written by `auditedAddress`
  return resource?.id;
}

/**
 * Whether a change may move other policies. A deletion keeps the order of the others. A complete entry of an update
 * shows an unchanged order, unless the update moves the policy. Entries of documents show the order of moved policies
 * only. That order can be unchanged, if policies before the moved one were deleted.
 */
function mayMoveOthers(before: object | undefined, after: object | undefined): boolean {
  if (after === undefined) return false;
  const isComplete = "createdAt" in after;
  return before === undefined || orderIn(before) !== orderIn(after) || (!isComplete && "order" in after);
}

function lifetimeIn(group: object | undefined): unknown {
  return group !== undefined && "deviceSessionLifetime" in group ? group.deviceSessionLifetime : undefined;
}

/** The items that a user or a gateway lists in a field. */
function listIn(state: object | undefined, field: "groups" | "resources"): readonly unknown[] {
  const lists = (state ?? {}) as { readonly [name in typeof field]?: readonly unknown[] }; // written by the views and documents
  return lists[field] ?? [];
}

/** The ids of listed records. Entries of documents list names instead. */
function idsIn(items: readonly unknown[]): readonly string[] {
  return items.flatMap((item) => {
    const id: unknown = typeof item === "object" && item !== null ? Reflect.get(item, "id") : undefined;
    return typeof id === "string" ? [id] : [];
  });
}

function orderIn(state: object): unknown {
  return "order" in state ? state.order : undefined;
}
