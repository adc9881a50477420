import type { NetworkProtocol } from "@gatehouse/contract/records/protocol";
import type { ResourceFacts, TransportProtocol } from "./facts.ts";

/** A resource at an address, and the services that it offers there. */
export interface AddressEntry {
  readonly resourceId: string;
  readonly offers: readonly Offer[];
}

/** The entries at an address, in the order in which their resources were created. */
export type Entries = readonly AddressEntry[];

/** A transport protocol with its lowest and highest port. */
export interface Offer {
  readonly protocol: TransportProtocol;
  readonly first: number;
  readonly last: number;
}

/** Whether an entry offers a protocol and port. An undefined protocol or port matches every offer. */
export function isOffered(
  entry: AddressEntry,
  protocol: TransportProtocol | undefined,
  port: number | undefined,
): boolean {
  if (protocol === undefined) return true;
  return entry.offers.some(
    (offer) => offer.protocol === protocol && (port === undefined || (offer.first <= port && port <= offer.last)),
  );
}

/** The services that a resource offers at all of its addresses together. */
export function offersOf({ id, addresses }: ResourceFacts): AddressEntry {
  return { resourceId: id, offers: addresses.flatMap(({ protocols }) => protocols.map(offerOf)) };
}

export function offerOf({ protocol, port }: NetworkProtocol): Offer {
  if (port === undefined) return { protocol, first: 0, last: 65_535 };
  const [first = "", last = first] = port.split("-");
  return { protocol, first: Number(first), last: Number(last) };
}
