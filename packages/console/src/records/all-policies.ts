/** All policies of a type: their order is one, and what they say together is in all of them. */
import type { ItemAt } from "@gatehouse/client/calls";
import { queryOptions, skipToken, useQuery, useQueryClient } from "@tanstack/react-query";
import { type PageOf, paged } from "../app/api.ts";

const source = paged("/tenants/policies");
const pageLimit = 100;
/** Pages that are asked for at the same time. */
const atOnce = 4;

type Policy = ItemAt<"/tenants/policies">;
type FirstPage = PageOf<Policy>;

/** @param begun told of the first page when it is there */
export function allPoliciesQuery(type: Policy["type"], begun: (first: FirstPage) => void = () => undefined) {
  return queryOptions({
    queryKey: [source.path, "order", type],
    queryFn: ({ signal }) => readAll(type, signal, begun),
  });
}

/** The first page is there at once; what needs the whole order waits until all are. */
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
  for (let done = 0; done < offsets.length; done += atOnce) {
    const pages = await Promise.all(offsets.slice(done, done + atOnce).map(read));
    found.push(...pages.flatMap(({ data }) => data));
  }
  // A policy that moved meanwhile may stand on two pages.
  return [...new Map(found.map((policy) => [policy.id, policy])).values()];
}
