/** All policies of a type. Their order is one list: a single page is not enough. */
import type { ItemAt } from "@gatehouse/client/calls";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { paged } from "../app/api.ts";

const source = paged("/tenants/policies");
const pageLimit = 100;
/** Pages that are requested concurrently. */
const concurrency = 4;

type Policy = ItemAt<"/tenants/policies">;

export function allPoliciesQuery(type: Policy["type"]) {
  return queryOptions({
    queryKey: [source.path, "order", type],
    queryFn: ({ signal }) => readAll(type, signal),
  });
}

/**
 * The first page of policies, or all of them if one page is enough or `wantsAll` is set. `isWhole` is true once all are
 * loaded.
 *
 * @param wantsAll whether to read all policies of a tenant that has many
 */
export function usePolicies(type: Policy["type"], wantsAll: boolean) {
  const first = useQuery({
    queryKey: [source.path, "order", type, "first page"],
    queryFn: ({ signal }) => readPage(type, 0, signal),
  });
  const isShort = first.data !== undefined && first.data.total <= pageLimit;
  const isNeeded = wantsAll && first.data !== undefined && !isShort;
  const all = useQuery({ ...allPoliciesQuery(type), enabled: isNeeded });
  // Policies that are no longer wanted are no longer refetched.
  const whole = isShort ? first.data?.data : isNeeded ? all.data : undefined;
  return {
    policies: whole ?? first.data?.data,
    total: whole?.length ?? first.data?.total,
    isWhole: whole !== undefined,
    error: first.error ?? all.error,
    refetch: () => Promise.all([first.refetch(), ...(isNeeded ? [all.refetch()] : [])]),
  };
}

function readPage(type: Policy["type"], offset: number, signal: AbortSignal) {
  return source.read({ "filter[type]": type, sort: "order", limit: pageLimit, offset }, signal);
}

async function readAll(type: Policy["type"], signal: AbortSignal): Promise<readonly Policy[]> {
  const first = await readPage(type, 0, signal);
  const offsets = Array.from({ length: Math.ceil(first.total / pageLimit) }, (_, page) => page * pageLimit).slice(1);
  const found = [...first.data];
  for (let done = 0; done < offsets.length; done += concurrency) {
    const pages = await Promise.all(
      offsets.slice(done, done + concurrency).map((offset) => readPage(type, offset, signal)),
    );
    found.push(...pages.flatMap(({ data }) => data));
  }
  // A policy that moved between two requests may be on two pages.
  return [...new Map(found.map((policy) => [policy.id, policy])).values()];
}
