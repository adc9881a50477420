/**
 * The public addresses of gateways that forward devices' packets with their own address: relays, and gateways that
 * carry internet traffic. Such an address does not prove which network the device is in
 * (docs/decisions/0265-addresses-of-relays.md, docs/decisions/0273-addresses-of-internet-gateways.md).
 */
import { isIP } from "node:net";
import { unspecifiedSource } from "@gatehouse/policy/enforcement/device-sources";
import { findingInternetGateways, type InternetPolicies } from "@gatehouse/policy/enforcement/internet-gateways";
import { forEach, type Work } from "@gatehouse/policy/work";
import type { GatewayLinkRow } from "../../agent-identity/link-facts.queries.ts";
import { discoveredAddress } from "./discovered-address.ts";

/** An address of a gateway that is indexed. */
const addressCost = 15;

/** Gateways by address. Every reported peer is looked up here. */
class GatewaysByAddress {
  readonly #ids = new Map<string, Set<string>>();

  at(address: string): ReadonlySet<string> | undefined {
    return this.#ids.get(address);
  }

  add(gatewayId: string, addresses: readonly string[]): void {
    for (const address of addresses) this.#ids.set(address, (this.#ids.get(address) ?? new Set()).add(gatewayId));
  }

  delete(gatewayId: string, addresses: readonly string[]): void {
    for (const address of addresses) {
      const ids = this.#ids.get(address);
      ids?.delete(gatewayId);
      if (ids?.size === 0) this.#ids.delete(address);
    }
  }
}

export class ForwardingAddresses {
  readonly #addresses = new Map<string, readonly string[]>();
  readonly #relays = new GatewaysByAddress();
  #exits = new GatewaysByAddress();
  /** The gateways that carry internet traffic, including those without a known address. */
  #internetGateways: ReadonlySet<string> = new Set();
  /** The policies from which these gateways were found. */
  #policies: InternetPolicies | undefined;

  constructor(rows: readonly GatewayLinkRow[] = []) {
    for (const row of rows) this.set(row);
  }

  set({ id, relay_enabled: relays, endpoint, reported_endpoint: reported }: GatewayLinkRow): void {
    this.delete(id);
    const addresses = [endpoint, reported].map((text) => discoveredAddress(hostOf(text))).filter((text) => text !== "");
    this.#addresses.set(id, addresses);
    if (relays) this.#relays.add(id, addresses);
    if (this.#internetGateways.has(id)) this.#exits.add(id, addresses);
  }

  delete(gatewayId: string): void {
    const addresses = this.#addresses.get(gatewayId) ?? [];
    this.#relays.delete(gatewayId, addresses);
    this.#exits.delete(gatewayId, addresses);
    this.#addresses.delete(gatewayId);
  }

  /**
   * Finds the gateways that carry internet traffic, unless they were found from these policies. Gateways must not
   * change until the work ends.
   */
  async follow(list: InternetPolicies, perform: (work: Work<void>) => Promise<void>): Promise<void> {
    if (this.#policies !== list) await perform(this.#following(list));
  }

  *#following(list: InternetPolicies): Work<void> {
    const found = yield* findingInternetGateways(list);
    const exits = new GatewaysByAddress();
    yield* forEach(found, addressCost, (id) => exits.add(id, this.#addresses.get(id) ?? []));
    this.#internetGateways = found;
    this.#exits = exits;
    this.#policies = list;
  }

  /**
   * Returns the address that an observation of a gateway proves. The address of a relay counts only if the device's own
   * connection came from it too. Otherwise, the device is at an unknown address, and its earlier one no longer counts.
   *
   * @param observed in canonical form
   * @param own the address that the device's own connection proves
   */
  ofGateway(gatewayId: string, observed: string, own: string | undefined): string {
    if (this.#exits.at(observed) !== undefined) return unknownLike(observed);
    const relays = this.#relays.at(observed);
    const isRelay = relays !== undefined && (relays.size > 1 || !relays.has(gatewayId));
    return isRelay && observed !== own ? unknownLike(observed) : observed;
  }

  /**
   * Returns the address that the device's own connection proves. A connection through the tunnel of a gateway comes
   * from the address of the gateway.
   *
   * @param observed in canonical form
   */
  ofControlPlane(observed: string): string {
    return this.#exits.at(observed) === undefined ? observed : unknownLike(observed);
  }
}

/** The unspecified address of the same family. */
function unknownLike(address: string): string {
  return unspecifiedSource[isIP(address) === 6 ? 6 : 4];
}

/** @param endpoint a host, with or without a port */
function hostOf(endpoint: string): string {
  return isIP(endpoint) === 0 ? endpoint.replace(/:\d+$/, "").replaceAll(/[[\]]/g, "") : endpoint;
}
