import type { Model } from "../model/model.ts";
import { relaysFor } from "./gateway-rules.ts";
import type { GatewayLink } from "./links.ts";

/** Relays in the order to try them. Relays in service come first, because each silent relay costs time. */
export function relaysInOrder(model: Model, gateways: ReadonlyMap<string, GatewayLink>, target: GatewayLink): string[] {
  if (target.relayPort === null) return [];
  const isOnline = ({ gatewayId }: GatewayLink) => model.gateways.get(gatewayId)?.status === "ONLINE";
  const links = [...gateways.values()];
  const inOrder = [...links.filter(isOnline), ...links.filter((link) => !isOnline(link))];
  return relaysOf(inOrder, target);
}

export function relaysOf(links: Iterable<GatewayLink>, target: GatewayLink): string[] {
  return [...links].flatMap((relay) => {
    if (!relaysFor(relay, target) || relay.endpoint === null) return [];
    return [`${relay.endpoint.slice(0, relay.endpoint.lastIndexOf(":"))}:${target.relayPort}`];
  });
}
