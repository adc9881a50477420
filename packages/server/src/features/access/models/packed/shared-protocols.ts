/** Lists of ports in memory. There is one copy of each list, however many resources of a tenant have it. */
import type { NetworkProtocol } from "@gatehouse/contract/records/protocol";
import { listsOf, type OfferedProtocols, type ProtocolList } from "@gatehouse/policy/model/protocol-lists";

/** The copies that are in use, by their text. */
const known = new Map<string, WeakRef<ProtocolList>>();
/** Maps each known list to its shared copy, which may be the list itself. */
const copies = new WeakMap<ProtocolList, ProtocolList>();
const unused = new FinalizationRegistry<string>((text) => {
  if (known.get(text)?.deref() === undefined) known.delete(text);
});

/** The copy of a list that all resources share. */
export function sharedProtocols(list: ProtocolList): ProtocolList {
  const seen = copies.get(list);
  if (seen !== undefined) return seen;
  const text = list.map(textOfProtocol).join(" ");
  let copy = known.get(text)?.deref();
  if (copy === undefined) {
    copy = list;
    known.set(text, new WeakRef(copy));
    unused.register(copy, text);
  }
  copies.set(list, copy);
  return copy;
}

/**
 * The same protocols as shared lists.
 *
 * @param protocols just read, and not used by anything else
 */
export function sharingProtocols(protocols: OfferedProtocols): OfferedProtocols {
  if (protocols.length === 0) return protocols;
  const lists = listsOf(protocols);
  return lists[0] === protocols ? sharedProtocols(lists[0] as ProtocolList) : lists.map(sharedProtocols); // its only list
}

function textOfProtocol({ protocol, port }: NetworkProtocol): string {
  return port === undefined ? protocol : `${protocol}:${port}`;
}
