/** Reads complete lists. */

import { UnexpectedResponseError } from "./errors.ts";
import { countedPaths, pagedPaths } from "./generated/api.ts";
import { isObject } from "./responses.ts";
import type { Outgoing, Transport } from "./transport.ts";

/** The maximum page size of the API. */
const pageLimit = 100;

/** The filter for items after the last item of the previous page. */
const afterId = "filter[id][gt]";

type Query = Readonly<Record<string, unknown>>;

/**
 * Yields every item of a list in order. A page is requested when its first item is needed; an array is streamed.
 *
 * Without `sort`, pages follow each other by id, so that deleting items meanwhile skips none. With `sort`, and if items
 * have no ids, pages are requested by offset: items that are created or deleted meanwhile can appear twice or not at
 * all.
 */
export async function* itemsOf(transport: Transport, list: Outgoing): AsyncGenerator<unknown> {
  if (!pagedPaths.includes(list.template)) {
    yield* transport.items(list);
    return;
  }
  const query: Query = list.query ?? {};
  const byId = !countedPaths.includes(list.template) && query.sort === undefined && query[afterId] === undefined;
  let position: Query = byId ? { sort: "id" } : {};
  for (let read = 0; ; ) {
    const { body, status } = await transport.send({ ...list, query: { ...query, ...position, limit: pageLimit } });
    if (!isPage(body, byId)) throw new UnexpectedResponseError(transport.url, status, "not a Gatehouse response");
    yield* body.data;
    if (!body.hasNext) return;
    read += body.data.length;
    position = byId ? { sort: "id", [afterId]: lastIdOf(body.data) } : { offset: read };
  }
}

interface Page {
  readonly data: readonly unknown[];
  readonly hasNext: boolean;
}

/**
 * Whether the body is a page. A page with a next page must contain items, with ids if pages follow each other by id;
 * otherwise reading would not end.
 */
function isPage(body: unknown, byId: boolean): body is Page {
  if (!isObject(body) || !Array.isArray(body.data) || typeof body.hasNext !== "boolean") return false;
  return !body.hasNext || (byId ? lastIdOf(body.data) !== undefined : body.data.length > 0);
}

function lastIdOf(items: readonly unknown[]): string | undefined {
  const last = items.at(-1);
  return isObject(last) && typeof last.id === "string" ? last.id : undefined;
}
