/** The content for agents of version 1 of the subprotocol, which know fewer fields: SPEC.md, "Versions". */
import type { Destination } from "./configuration.ts";
import type { ContentTree } from "./content-tree.ts";

const adapted = new WeakMap<ContentTree, ContentTree>();

/**
 * Returns content that agents of version 1 accept. They do not know `answers`, which limits what a name opens. Such
 * names are closed for them, because a field must not be omitted if it affects enforcement.
 */
export function contentForVersion1(content: ContentTree): ContentTree {
  const known = adapted.get(content);
  if (known !== undefined) return known;
  const closed: [string, Destination][] = [];
  for (const [key, { answers }] of content.destinations.entries()) {
    if (answers !== undefined) closed.push([key, { services: [], otherwise: "drop" }]);
  }
  const result = closed.length === 0 ? content : { ...content, destinations: content.destinations.with(closed) };
  adapted.set(content, result);
  return result;
}
