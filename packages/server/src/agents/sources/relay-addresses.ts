/**
 * The public addresses of gateways that relay. A relay hides the source address of a device, so its address is no
 * evidence of the device's network (docs/decisions/0265-addresses-of-relays.md).
 */
import { isIP } from "node:net";
import { unspecifiedSource } from "@gatehouse/policy/enforcement/device-sources";
import type { GatewayLinkRow } from "../tunnels/link-facts.queries.ts";
import { discoveredAddress } from "./discovered-address.ts";

export class RelayAddresses {
  readonly #byGateway = new Map<string, ReadonlySet<string>>();

  constructor(rows: readonly GatewayLinkRow[] = []) {
    for (const row of rows) this.set(row);
  }

  set({ id, relay_enabled: relays, endpoint, reported_endpoint: reported }: GatewayLinkRow): void {
    const addresses = [endpoint, reported].map((text) => discoveredAddress(hostOf(text))).filter((text) => text !== "");
    if (relays) this.#byGateway.set(id, new Set(addresses));
    else this.delete(id);
  }

  delete(gatewayId: string): void {
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
    for (const [relayId, addresses] of this.#byGateway) {
      if (relayId !== gatewayId && addresses.has(observed)) return unspecifiedSource[isIP(observed) === 6 ? 6 : 4];
    }
    return observed;
  }
}

/** @param endpoint a host, with or without a port */
function hostOf(endpoint: string): string {
  return isIP(endpoint) === 0 ? endpoint.replace(/:\d+$/, "").replaceAll(/[[\]]/g, "") : endpoint;
}
