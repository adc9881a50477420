/** Reading whole lists. */
import { isObject } from "./answers.ts";
import { ForeignAnswerError } from "./errors.ts";
import { countedPaths, pagedPaths } from "./generated/api.ts";
import type { Outgoing, Transport } from "./transport.ts";

/** The longest page that the API gives. */
const pageLimit = 100;

/** The last item of a page, which the next one starts after. */
const afterId = "filter[id][gt]";

type Query = Readonly<Record<string, unknown>>;

/**
 * Every item of a list, once, in its order; the next page is asked for when its first item is. An array is read as it
 * comes. Without `sort`, pages follow each other by id, so that items that are deleted meanwhile make none be passed over. With
 * `sort`, and where items have no ids, they are counted off, and what is made or deleted meanwhile may show twice or not at all.
 */
export async function* itemsOf(transport: Transport, list: Outgoing): AsyncGenerator<unknown> {
  if (!pagedPaths.includes(list.template)) {
    yield* transport.items(list);
    return;
  }
  const query: Query = list.query ?? {};
  const byId = !countedPaths.includes(list.template) && query.sort === undefined && query[afterId] === undefined;
  let place: Query = byId ? { sort: "id" } : {};
  for (let read = 0; ; ) {
    const { body, status } = await transport.send({ ...list, query: { ...query, ...place, limit: pageLimit } });
    if (!isPage(body, byId)) throw new ForeignAnswerError(transport.url, status, "not what Gatehouse answers");
    yield* body.data;
    if (!body.hasNext) return;
    read += body.data.length;
    place = byId ? { sort: "id", [afterId]: lastIdOf(body.data) } : { offset: read };
  }
}

interface Page {
  readonly data: readonly unknown[];
  readonly hasNext: boolean;
}

/** A page that says there are more has some itself, with ids where they are gone by: reading on would not end otherwise. */
function isPage(body: unknown, byId: boolean): body is Page {
  if (!isObject(body) || !Array.isArray(body.data) || typeof body.hasNext !== "boolean") return false;
  return !body.hasNext || (byId ? lastIdOf(body.data) !== undefined : body.data.length > 0);
}

function lastIdOf(items: readonly unknown[]): string | undefined {
  const last = items.at(-1);
  return isObject(last) && typeof last.id === "string" ? last.id : undefined;
}
