import { closedBlockOf } from "@gatehouse/addresses/closed-targets";
import { addressesOf } from "../enforcement/parsed-addresses.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import { sorting } from "../sorting.ts";

/** An address of a private resource in a blocked range. It was stored before such addresses were refused. */
export interface ClosedAddress {
  readonly resource: CompiledResource;
  readonly address: string;
  /** The blocked range. */
  readonly block: string;
}

/**
 * Finds stored addresses of private resources in blocked ranges, in the order of ids.
 *
 * @returns yields after each address with the finding, and otherwise the units of cost that were spent
 */
export function* closedAddresses(model: Model): Generator<"address" | ClosedAddress | number, void> {
  for (const id of yield* sorting(model.resources.ids())) {
    const resource = model.resources.get(id);
    if (resource?.type !== "PRIVATE") continue;
    if (resource.decodingCost > 0) yield resource.decodingCost;
    for (const { address, range } of addressesOf(resource)) {
      const block = range && closedBlockOf(range);
      yield block === undefined ? "address" : { resource, address, block };
    }
  }
}
