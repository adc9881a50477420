import { isDeepStrictEqual } from "node:util";
import { newId } from "../../../platform/ids.ts";
import { checkAddress, type StoredAddress } from "../../addresses/addresses.api.ts";
import type { AddressSettings } from "../document/settings.ts";
import type { RecordChange } from "../plan/plan-changes.ts";

export interface AddressChanges {
  /** Ids of addresses to delete. */
  readonly removed: readonly string[];
  readonly added: readonly StoredAddress[];
  /** Addresses whose protocols or limits of answers change. */
  readonly updated: readonly StoredAddress[];
}

/**
 * The changes to the addresses of a resource that is created or updated. An unchanged address keeps its id.
 *
 * @param addressIds ids of the resource's current addresses, by text
 */
export function addressChanges(
  change: Exclude<RecordChange<"resource">, { action: "delete" }>,
  resourceId: string,
  addressIds: ReadonlyMap<string, string>,
  protocolId: (name: string) => string,
): AddressChanges {
  const { addresses, type } = change.after;
  const before = new Map(
    change.action === "update" ? change.before.addresses.map((address) => [address.address, address]) : [],
  );
  const stored = ({ address, protocols, answersWithin }: AddressSettings): StoredAddress => {
    const check = checkAddress(address, type);
    const isIp = check.ok && check.value.isIp;
    return {
      id: addressIds.get(address) ?? newId(),
      resourceId,
      address,
      isIp,
      protocolIds: protocols.map(protocolId),
      answersWithin: answersWithin ?? null,
    };
  };
  const wanted = new Set(addresses.map(({ address }) => address));
  const isUpdated = (after: AddressSettings) => {
    const old = before.get(after.address);
    return old !== undefined && !isDeepStrictEqual(old, after);
  };
  return {
    removed: [...addressIds].flatMap(([address, id]) => (wanted.has(address) ? [] : [id])),
    added: addresses.filter(({ address }) => !before.has(address)).map(stored),
    updated: addresses.filter(isUpdated).map(stored),
  };
}
