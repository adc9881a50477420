/** Addresses of a resource that an event added, changed or removed. */

import { isDeepStrictEqual } from "node:util";
import type { Change } from "@gatehouse/contract/records/change-set";
import type { Irrevertible, UndoneEvent } from "@gatehouse/contract/records/revert";
import { undoneEvent } from "./later-changes.ts";
import { cannot } from "./reasons.ts";
import { addressesField } from "./record-fields.ts";
import { embeddedIn, itemsIn, type State, textIn } from "./recorded-state.ts";
import type { CurrentState, RevertedEvent } from "./revert-plan.ts";
import { addressBody } from "./update-requests.ts";

export interface AddressChanges {
  /** Whether the event changed an address. */
  readonly changed: boolean;
  readonly changes: readonly Change[];
  readonly cannot: readonly Irrevertible[];
  readonly undoes: readonly UndoneEvent[];
}

/** @param now the resource as it is now */
export function addressChanges({ event, later }: RevertedEvent, state: CurrentState, now: State): AddressChanges {
  const { before = {}, after = {} } = event;
  const at = `/tenants/resources/${event.target.id}`;
  const [old, fresh, current] = [addressesById(before), addressesById(after), addressesById(now)];
  const changes: Change[] = [];
  const reasons: Irrevertible[] = [];
  const touched = new Set<string>();
  let changed = false;
  for (const [id, address] of old) {
    const [made, existing] = [fresh.get(id), current.get(id)];
    if (made !== undefined && sameAddress(made, address)) continue;
    changed = true;
    const body = addressBody(address, (protocol) => state.exists("protocol", protocol));
    if (existing === undefined) {
      if (made === undefined) changes.push({ method: "POST", path: `${at}/addresses`, body });
      else reasons.push(cannot("missing_record", { field: addressesField, record: { type: "address", id } }));
    } else if (!sameAddress(existing, address)) {
      changes.push({ method: "PUT", path: `/tenants/addresses/${id}`, body });
      touched.add(id);
    }
    reasons.push(...missingProtocols(address, state));
  }
  for (const id of fresh.keys()) {
    if (old.has(id)) continue;
    changed = true;
    if (!current.has(id)) continue;
    changes.push({ method: "DELETE", path: `${at}/addresses/${id}` });
    touched.add(id);
  }
  const undoes = later
    .filter(({ target }) => target.type === "address" && touched.has(target.id))
    .map((entry) => undoneEvent(entry, [addressesField]));
  return { changed, changes, cannot: reasons, undoes };
}

/** Protocols of a recorded address that do not exist any more. */
export function missingProtocols(address: State, state: CurrentState): readonly Irrevertible[] {
  return itemsIn(address, "protocols")
    .filter((id) => !state.exists("protocol", id))
    .map((id) => cannot("missing_record", { field: "protocols", record: { type: "protocol", id } }));
}

function addressesById(resource: State): ReadonlyMap<string, State> {
  return new Map(embeddedIn(resource, addressesField).map((address) => [textIn(address, "id"), address]));
}

function sameAddress(left: State, right: State): boolean {
  return (
    textIn(left, "address") === textIn(right, "address") &&
    isDeepStrictEqual(itemsIn(left, "protocols"), itemsIn(right, "protocols")) &&
    isDeepStrictEqual(left.answersWithin, right.answersWithin)
  );
}
