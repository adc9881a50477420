/** Returns a part of a list that is an array, and describes the rest in headers. */
import type { FastifyReply } from "fastify";
import type { ArrayCut } from "../platform/list-query.ts";
import { batchSize, type Outcome, wholeArray } from "../platform/outcome.ts";

/** Cuts an array, and adds `X-Total-Count` and `Link` (RFC 8288). Other outcomes are returned as they are. */
export async function cutOutcome<O extends Outcome>(
  outcome: O,
  cut: ArrayCut | undefined,
  reply: FastifyReply,
): Promise<O | Outcome> {
  if (cut === undefined || outcome.kind !== "array") return outcome;
  const { limit = Number.POSITIVE_INFINITY } = cut;
  const readPart = limit <= batchSize ? outcome.readPart : undefined;
  const { items, total } = await (readPart?.({ ...cut, limit }) ?? partOf(outcome.batches, cut));
  reply.header("X-Total-Count", total);
  const link = linksOf(reply.request.url, cut, total);
  if (link !== "") reply.header("Link", link);
  return wholeArray(items);
}

async function partOf(batches: AsyncIterable<readonly unknown[]>, cut: ArrayCut) {
  const { offset, limit = Number.POSITIVE_INFINITY } = cut;
  const items: object[] = [];
  let total = 0;
  // The rest is counted, not kept.
  for await (const batch of batches) {
    for (const item of batch) {
      if (total >= offset && items.length < limit) items.push(item as object); // records, as the contract declares
      total += 1;
    }
  }
  return { items, total };
}

/** Links to the other parts, as relative references with the request's other parameters. */
function linksOf(url: string, { offset, limit }: ArrayCut, total: number): string {
  if (limit === undefined) return offset === 0 ? "" : linkTo(url, { rel: "first", offset: 0 });
  const last = total === 0 ? 0 : Math.floor((total - 1) / limit) * limit;
  const links = [linkTo(url, { rel: "first", offset: 0, limit })];
  if (offset > 0) links.push(linkTo(url, { rel: "prev", offset: Math.max(0, offset - limit), limit }));
  if (offset + limit < total) links.push(linkTo(url, { rel: "next", offset: offset + limit, limit }));
  links.push(linkTo(url, { rel: "last", offset: last, limit }));
  return links.join(", ");
}

interface Target {
  readonly rel: "first" | "prev" | "next" | "last";
  readonly offset: number;
  readonly limit?: number;
}

function linkTo(url: string, { rel, offset, limit }: Target): string {
  const [path = "/", search = ""] = url.split("?", 2);
  const parameters = new URLSearchParams(search);
  for (const name of ["page", "page[limit]", "page[offset]", "limit", "offset"]) parameters.delete(name);
  if (limit !== undefined) parameters.set("limit", String(limit));
  parameters.set("offset", String(offset));
  return `<${path}?${parameters}>; rel="${rel}"`;
}
