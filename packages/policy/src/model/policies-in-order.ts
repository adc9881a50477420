import type { CompiledPolicy } from "./compiled-policy.ts";
import type { CompiledResource } from "./compiled-resource.ts";
import type { PolicyList } from "./policy-list.ts";

/**
 * The active policies for a destination in the order of evaluation, without the default policy.
 *
 * @param resource undefined for an address of no resource
 */
export function* policiesInOrder(list: PolicyList, resource: CompiledResource | undefined): Iterable<CompiledPolicy> {
  const general = (resource === undefined ? list.anywhere : list.everywhere).policies;
  const named = resource?.policiesIn(list)?.policies ?? [];
  let next = 0;
  for (const policy of general) {
    for (let other = named[next]; other !== undefined && other.rank < policy.rank; other = named[next]) {
      yield other;
      next += 1;
    }
    yield policy;
  }
  yield* named.slice(next);
}
