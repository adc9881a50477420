/** All policies of a type: their order is one, and what they say together is in all of them. */
import type { ItemAt } from "@gatehouse/client/calls";
import { queryOptions } from "@tanstack/react-query";
import { paged } from "../app/api.ts";

const source = paged("/tenants/policies");
const pageLimit = 100;
/** Pages that are asked for at the same time. */
const atOnce = 4;

type Policy = ItemAt<"/tenants/policies">;

export function allPoliciesQuery(type: Policy["type"]) {
  return queryOptions({
    queryKey: [source.path, "order", type],
    queryFn: ({ signal }) => readAll(type, signal),
  });
}

async function readAll(type: Policy["type"], signal: AbortSignal): Promise<readonly Policy[]> {
  const read = (offset: number) =>
    source.read({ "filter[type]": type, sort: "order", limit: pageLimit, offset }, signal);
  const first = await read(0);
  const offsets = Array.from({ length: Math.ceil(first.total / pageLimit) }, (_, page) => page * pageLimit).slice(1);
  const found = [...first.data];
  for (let done = 0; done < offsets.length; done += atOnce) {
    const pages = await Promise.all(offsets.slice(done, done + atOnce).map(read));
    found.push(...pages.flatMap(({ data }) => data));
  }
  // A policy that moved meanwhile may stand on two pages.
  return [...new Map(found.map((policy) => [policy.id, policy])).values()];
}
