import { newId } from "../../platform/ids.ts";
import { type BulkAddress, checkAddress } from "../addresses/addresses.api.ts";
import type { RecordChange } from "./plan-changes.ts";
import type { AddressSettings } from "./settings.ts";

export interface AddressChanges {
  readonly gone: readonly { readonly resourceId: string; readonly address: string }[];
  readonly added: readonly BulkAddress[];
  /** Those that get other protocols. */
  readonly changed: readonly BulkAddress[];
}

/** What becomes of the addresses of a resource that is created or changed: one that stays keeps its id. */
export function addressChanges(
  change: Exclude<RecordChange<"resource">, { action: "delete" }>,
  resourceId: string,
  protocolId: (name: string) => string,
): AddressChanges {
  const { addresses, type } = change.after;
  const before = new Map(
    change.action === "update" ? change.before.addresses.map(({ address, protocols }) => [address, protocols]) : [],
  );
  const bulk = ({ address, protocols }: AddressSettings): BulkAddress => {
    const check = checkAddress(address, type);
    const isIp = check.ok && check.value.isIp;
    return { id: newId(), resourceId, address, isIp, protocolIds: protocols.map(protocolId) };
  };
  const kept = new Set(addresses.map(({ address }) => address));
  const isChanged = ({ address, protocols }: AddressSettings) => {
    const old = before.get(address);
    return old !== undefined && JSON.stringify(old) !== JSON.stringify(protocols);
  };
  return {
    gone: [...before.keys()].filter((address) => !kept.has(address)).map((address) => ({ resourceId, address })),
    added: addresses.filter(({ address }) => !before.has(address)).map(bulk),
    changed: addresses.filter(isChanged).map(bulk),
  };
}
