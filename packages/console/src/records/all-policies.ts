/** All policies of a type. Their order is one list: a single page is not enough. */
import type { ItemAt } from "@gatehouse/client/calls";
import { queryOptions, skipToken, useQuery, useQueryClient } from "@tanstack/react-query";
import { type PageOf, paged } from "../app/api.ts";

const source = paged("/tenants/policies");
const pageLimit = 100;
/** Pages that are requested concurrently. */
const concurrency = 4;

type Policy = ItemAt<"/tenants/policies">;
type FirstPage = PageOf<Policy>;

/** @param begun called with the first page when it arrives */
export function allPoliciesQuery(type: Policy["type"], begun: (first: FirstPage) => void = () => undefined) {
  return queryOptions({
    queryKey: [source.path, "order", type],
    queryFn: ({ signal }) => readAll(type, signal, begun),
  });
}

/** Returns the first page as soon as it arrives. `isWhole` is true once all pages have arrived. */
export function usePolicies(type: Policy["type"]) {
  const queryClient = useQueryClient();
  const firstKey = [source.path, "order", type, "first page"];
  const {
    data: all,
    error,
    refetch,
  } = useQuery(allPoliciesQuery(type, (first) => queryClient.setQueryData(firstKey, first)));
  const { data: first } = useQuery<FirstPage>({ queryKey: firstKey, queryFn: skipToken });
  return {
    policies: all ?? first?.data,
    total: all?.length ?? first?.total,
    isWhole: all !== undefined,
    error,
    refetch,
  };
}

async function readAll(
  type: Policy["type"],
  signal: AbortSignal,
  begun: (first: FirstPage) => void,
): Promise<readonly Policy[]> {
  const read = (offset: number) =>
    source.read({ "filter[type]": type, sort: "order", limit: pageLimit, offset }, signal);
  const first = await read(0);
  begun(first);
  const offsets = Array.from({ length: Math.ceil(first.total / pageLimit) }, (_, page) => page * pageLimit).slice(1);
  const found = [...first.data];
  for (let done = 0; done < offsets.length; done += concurrency) {
    const pages = await Promise.all(offsets.slice(done, done + concurrency).map(read));
    found.push(...pages.flatMap(({ data }) => data));
  }
  // A policy that moved between two requests may be on two pages.
  return [...new Map(found.map((policy) => [policy.id, policy])).values()];
}
