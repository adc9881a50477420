import { closedBlockOf } from "@gatehouse/addresses/closed-targets";
import { addressesOf } from "../enforcement/destinations.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";

/** An address of a private resource in a closed block. It was stored before such addresses were refused. */
export interface ClosedAddress {
  readonly resource: CompiledResource;
  readonly address: string;
  /** The closed block. */
  readonly block: string;
}

/**
 * Finds stored addresses of private resources in closed blocks, in the order of ids.
 *
 * @returns yields after each address with the finding
 */
export function* closedAddresses(model: Model): Generator<"address" | ClosedAddress, void> {
  const ids = Array.from(model.resources.values(), ({ facts }) => facts.id).sort();
  for (const id of ids) {
    const resource = model.resources.get(id);
    if (resource?.type !== "PRIVATE") continue;
    for (const { address, range } of addressesOf(resource)) {
      const block = range && closedBlockOf(range);
      yield block === undefined ? "address" : { resource, address, block };
    }
  }
}
