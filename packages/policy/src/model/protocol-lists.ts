/**
 * The protocols of an address. An address can have 100 protocols with 100 ports each, and thousands of addresses can
 * have the same protocols. Addresses therefore share one list for each protocol, and results are cached by list.
 */
import type { NetworkProtocol } from "@gatehouse/contract/records/protocol";

export type ProtocolList = readonly NetworkProtocol[];

/** One list for each protocol of an address, or the ports of all protocols in one list. */
export type OfferedProtocols = ProtocolList | readonly ProtocolList[];

/** The lists of an address. */
export function listsOf(protocols: OfferedProtocols): readonly ProtocolList[] {
  return isNested(protocols) ? protocols : [protocols];
}

/** The ports of all protocols in one list. */
export function portsOf(protocols: OfferedProtocols): ProtocolList {
  return isNested(protocols) ? protocols.flat() : protocols;
}

export function portCount(protocols: OfferedProtocols): number {
  return isNested(protocols) ? protocols.reduce((sum, list) => sum + list.length, 0) : protocols.length;
}

/** Whether addresses have the same ports in the same order. Lists that both share are not compared port by port. */
export function haveSamePorts(one: OfferedProtocols, other: OfferedProtocols): boolean {
  if (one === other) return true;
  const [lists, others] = [listsOf(one), listsOf(other)];
  if (lists.length === others.length && lists.every((list, index) => list === others[index])) return true;
  const [ports, otherPorts] = [portsOf(one), portsOf(other)];
  return (
    ports.length === otherPorts.length &&
    ports.every(({ protocol, port }, index) => {
      const second = otherPorts[index];
      return protocol === second?.protocol && port === second.port;
    })
  );
}

/** Caches a result for each list, as long as the list is in use. */
export function cachedByList<Result>(resultOf: (list: ProtocolList) => Result): (list: ProtocolList) => Result {
  const known = new WeakMap<ProtocolList, { readonly result: Result }>();
  return (list) => {
    const cached = known.get(list);
    if (cached !== undefined) return cached.result;
    const result = resultOf(list);
    known.set(list, { result });
    return result;
  };
}

/** Whether there is one list per protocol. An empty value has no lists. */
function isNested(protocols: OfferedProtocols): protocols is readonly ProtocolList[] {
  return protocols.length === 0 || Array.isArray(protocols[0]);
}
