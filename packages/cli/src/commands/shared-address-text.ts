import type { NamedRecord, SharedAddress } from "@gatehouse/contract/records/decision";

/** The resource that connections to a shared address reach. */
export function sharedAddressText({ address, resource, resources, enclosing }: SharedAddress): string {
  const names = (list: readonly NamedRecord[]) => list.map(({ name }) => `"${name}"`).join(", ");
  if (resources.length === 0) {
    return `${address} is within a block or wildcard of ${names(enclosing)}. Connections to it go to "${resource.name}" instead.`;
  }
  return `${address} is an address of ${names(resources)}. Connections go to the first of them that offers the port.`;
}
