import type { DivertedAddress, NamedRecord, SharedAddress } from "@gatehouse/contract/records/decision";

/** The resource that connections to a shared address reach. */
export function sharedAddressText({ address, resource, resources, enclosing }: SharedAddress): string {
  const names = (list: readonly NamedRecord[]) => list.map(({ name }) => `"${name}"`).join(", ");
  if (resources.length === 0) {
    return `${address} is within a block or wildcard of ${names(enclosing)}. Connections to it go to "${resource.name}" instead.`;
  }
  return `${address} is an address of ${names(resources)}. Connections go to the first of them that offers the port.`;
}

/** The reason why an allowed destination is unreachable at an address. */
export function divertedAddressText({ address, routedFor }: DivertedAddress): string {
  return `Devices cannot reach this resource at ${address}: packets go to a gateway of "${routedFor.name}" that does not carry this resource.`;
}
