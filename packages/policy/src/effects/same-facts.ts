import type { ResourceFacts } from "../model/facts.ts";
import { haveSamePorts } from "../model/protocol-lists.ts";

/** Whether two facts are equal. Facts are plain data, and facts of one kind have their keys in the same order. */
export function haveSameFacts(one: object | undefined, other: object | undefined): boolean {
  if (one === other) return true;
  return one !== undefined && other !== undefined && JSON.stringify(one) === JSON.stringify(other);
}

/** Whether two resources have equal facts. Lists of ports that they share are not compared port by port. */
export function haveSameResources(one: ResourceFacts, other: ResourceFacts | undefined): boolean {
  if (other === undefined) return false;
  const { addresses, ...facts } = one;
  const { addresses: others, ...otherFacts } = other;
  if (addresses.length !== others.length || !haveSameFacts(facts, otherFacts)) return false;
  return addresses.every(({ protocols, ...address }, index) => {
    const { protocols: ports = [], ...second } = others[index] ?? {};
    return haveSameFacts(address, second) && haveSamePorts(protocols, ports);
  });
}
