/** Gateways that can carry several resources at one address (docs/decisions/0280-gateways-of-shared-addresses.md). */

/**
 * A set of gateways, one bit for each. Thousands of resources can have hundreds of addresses in common, and each of
 * them hundreds of gateways.
 */
export type GatewaySet = Uint32Array;

/** Gateways in the order to try them. */
export interface GatewayList {
  readonly ids: readonly string[];
  /** The bit of each gateway in sets. */
  readonly bits: readonly number[];
}

/** Numbers gateways, so that sets can represent them. Only sets of the same instance can be compared. */
export class GatewayBits {
  readonly #bits = new Map<string, number>();

  listOf(ids: readonly string[]): GatewayList {
    return { ids, bits: ids.map((id) => this.#bitOf(id)) };
  }

  setOf({ bits }: GatewayList): GatewaySet {
    const set = new Uint32Array((this.#bits.size + 31) >>> 5);
    for (const bit of bits) set[bit >>> 5] = (set[bit >>> 5] ?? 0) | (1 << (bit & 31));
    return set;
  }

  #bitOf(id: string): number {
    const known = this.#bits.get(id);
    if (known !== undefined) return known;
    const bit = this.#bits.size;
    this.#bits.set(id, bit);
    return bit;
  }
}

/** The gateways of a list that are in a set. */
export function gatewaysIn({ ids, bits }: GatewayList, set: GatewaySet): readonly string[] {
  return ids.filter((_, index) => {
    const bit = bits[index] ?? 0;
    return ((set[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
  });
}

/**
 * Returns the gateways that can also carry another resource at the same address. A device sends all packets to an
 * address through one gateway, so resources are added in the order of creation.
 *
 * @param gateways the gateways that can carry the earlier resources
 * @param others the gateways that can carry the other resource
 * @returns undefined if there are none, so the other resource is unreachable; `gateways` itself if all are common
 */
export function commonGateways(gateways: GatewaySet, others: GatewaySet): GatewaySet | undefined {
  let isEmpty = true;
  let isWhole = true;
  for (let word = 0; word < gateways.length; word += 1) {
    const own = gateways[word] ?? 0;
    const missing = own & ~(others[word] ?? 0);
    if (missing !== 0) isWhole = false;
    if (missing !== (own | 0)) isEmpty = false;
  }
  if (isEmpty) return undefined;
  return isWhole ? gateways : gateways.map((own, word) => own & (others[word] ?? 0));
}
