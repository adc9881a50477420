import { commonGateways, GatewayBits, type GatewaySet } from "../decisions/common-gateways.ts";
import { addressesOf } from "../enforcement/parsed-addresses.ts";
import type { Entries } from "../model/address-offers.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import { sorting } from "../sorting.ts";
import { entryCost } from "../work.ts";

/** An address of a resource that has no gateway in common with earlier created resources at the address. */
export interface AddressWithoutCommonGateway {
  readonly resource: CompiledResource;
  readonly address: string;
  /** The first created resource at the address, without those of type INTERNET. Devices use its gateways. */
  readonly routedFor: CompiledResource;
}

/**
 * Finds addresses at which devices cannot reach all resources, because no gateway can carry them. Each address is
 * examined once, with the first created resource that has it. Resources of type INTERNET are ignored, because policies
 * determine their gateways.
 *
 * @returns yields the findings of each address, then "address", and in between the units of cost that were spent
 */
export function* divertedAddresses(model: Model): Generator<"address" | AddressWithoutCommonGateway | number, void> {
  const gateways = new ResourceGateways(model);
  const firsts = new FirstResources(model);
  for (const id of yield* sorting(model.resources.ids())) {
    const resource = model.resources.get(id);
    if (resource === undefined || resource.type === "INTERNET") continue;
    if (resource.decodingCost > 0) yield resource.decodingCost;
    const examined = new Set<string>();
    for (const { address, key } of addressesOf(resource)) {
      const { same } = model.addresses.atAddress(address);
      const isFirst = !examined.has(key) && same.length > 1 && firsts.isFirst(id, key, same);
      if (isFirst) yield* withoutCommonGateway(model, same, address, gateways);
      examined.add(key);
      yield "address";
    }
  }
}

function* withoutCommonGateway(
  model: Model,
  same: Entries,
  address: string,
  gateways: ResourceGateways,
): Generator<AddressWithoutCommonGateway | number, void> {
  let first: CompiledResource | undefined;
  let common: GatewaySet | undefined;
  for (const { resourceId } of same) {
    yield entryCost;
    const resource = model.resources.get(resourceId);
    const own = resource === undefined ? undefined : gateways.of(resource);
    if (resource === undefined || own === undefined) continue;
    first ??= resource;
    const next = common === undefined ? own : commonGateways(common, own);
    if (next === undefined) yield { resource, address, routedFor: first };
    else common = next;
  }
}

/** Finds the first resource at an address whose type is not INTERNET. Resources must be passed in sorted order. */
class FirstResources {
  readonly #model: Model;
  /** The keys of examined addresses whose first resource has the type INTERNET. */
  readonly #examined = new Set<string>();

  constructor(model: Model) {
    this.#model = model;
  }

  /** @param same the entries at the address */
  isFirst(id: string, key: string, [first]: Entries): boolean {
    if (first === undefined || first.resourceId === id) return first !== undefined;
    // Reading all entries for each resource would take quadratic time.
    const isBehindInternet = this.#model.resources.get(first.resourceId)?.type === "INTERNET";
    if (!isBehindInternet || this.#examined.has(key)) return false;
    this.#examined.add(key);
    return true;
  }
}

class ResourceGateways {
  readonly #model: Model;
  readonly #bits = new GatewayBits();
  readonly #known = new Map<string, GatewaySet | undefined>();

  constructor(model: Model) {
    this.#model = model;
  }

  /** @returns undefined for a resource without gateways */
  of({ id, type, facts }: CompiledResource): GatewaySet | undefined {
    if (this.#known.has(id)) return this.#known.get(id);
    const ids =
      type === "INTERNET" ? [] : facts.gateways.filter((each) => this.#model.gateways.get(each) !== undefined);
    const gateways = ids.length === 0 ? undefined : this.#bits.setOf(this.#bits.listOf(ids));
    this.#known.set(id, gateways);
    return gateways;
  }
}
