/** The content for agents of version 1 of the subprotocol, which know fewer fields: SPEC.md, "Versions". */
import type { Destination, Peer } from "./configuration.ts";
import type { ContentTree } from "./content-tree.ts";

const adapted = new WeakMap<ContentTree, ContentTree>();

/**
 * Returns content that agents of version 1 accept. They do not know `answers`, which limits what a name opens, and
 * `until`, which limits a device. Such names are closed for them, and such devices are no peers, because a field must
 * not be omitted if it affects enforcement.
 */
export function contentForVersion1(content: ContentTree): ContentTree {
  const known = adapted.get(content);
  if (known !== undefined) return known;
  const closed: [string, Destination][] = [];
  for (const [key, { answers }] of content.destinations.entries()) {
    if (answers !== undefined) closed.push([key, { services: [], otherwise: "drop" }]);
  }
  const limited: [string, Peer | undefined][] = [];
  for (const [key, peer] of content.peers.entries()) {
    if (peer.kind === "device" && peer.until !== undefined) limited.push([key, undefined]);
  }
  const result =
    closed.length + limited.length === 0
      ? content
      : { ...content, destinations: content.destinations.with(closed), peers: content.peers.with(limited) };
  adapted.set(content, result);
  return result;
}
