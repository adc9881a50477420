/**
 * The public addresses of gateways that relay. A relay hides the source address of a device, so its address is no
 * evidence of the device's network (docs/decisions/0265-addresses-of-relays.md).
 */
import { isIP } from "node:net";
import { unspecifiedSource } from "@gatehouse/policy/enforcement/device-sources";
import type { GatewayLinkRow } from "../../agent-identity/link-facts.queries.ts";
import { discoveredAddress } from "./discovered-address.ts";

export class RelayAddresses {
  readonly #byGateway = new Map<string, readonly string[]>();
  /** The relays with an address. Every reported peer is looked up here. */
  readonly #byAddress = new Map<string, Set<string>>();

  constructor(rows: readonly GatewayLinkRow[] = []) {
    for (const row of rows) this.set(row);
  }

  set({ id, relay_enabled: relays, endpoint, reported_endpoint: reported }: GatewayLinkRow): void {
    const addresses = [endpoint, reported].map((text) => discoveredAddress(hostOf(text))).filter((text) => text !== "");
    this.delete(id);
    if (!relays) return;
    this.#byGateway.set(id, addresses);
    for (const address of addresses) {
      const known = this.#byAddress.get(address) ?? new Set();
      this.#byAddress.set(address, known.add(id));
    }
  }

  delete(gatewayId: string): void {
    for (const address of this.#byGateway.get(gatewayId) ?? []) {
      const relays = this.#byAddress.get(address);
      relays?.delete(gatewayId);
      if (relays?.size === 0) this.#byAddress.delete(address);
    }
    this.#byGateway.delete(gatewayId);
  }

  /**
   * Returns the address that an observation of a gateway proves. The address of a relay counts only if the device's own
   * connection came from it too. Otherwise, the device is at an unknown address, and its earlier one no longer counts.
   *
   * @param observed in canonical form
   * @param own the source address of the device's own connection
   */
  evidence(gatewayId: string, observed: string, own: string | undefined): string {
    if (observed === own) return observed;
    const relays = this.#byAddress.get(observed);
    if (relays === undefined || (relays.size === 1 && relays.has(gatewayId))) return observed;
    return unspecifiedSource[isIP(observed) === 6 ? 6 : 4];
  }
}

/** @param endpoint a host, with or without a port */
function hostOf(endpoint: string): string {
  return isIP(endpoint) === 0 ? endpoint.replace(/:\d+$/, "").replaceAll(/[[\]]/g, "") : endpoint;
}
