import type { UnreachableReason } from "@gatehouse/contract/records/access-findings";
import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import type { PolicyList } from "../model/policy-list.ts";
import { sorting } from "../sorting.ts";
import { decidesAlways } from "./idle-policies.ts";
import { coversSources, type PossibleSources } from "./possible-sources.ts";

/** A resource that nobody can reach in any circumstances. */
export interface UnreachableResource {
  readonly resource: CompiledResource;
  readonly reason: UnreachableReason;
}

/** A policy that was evaluated, or the units of cost that were spent. */
type Step = "policy" | number;

/** The maximum number of earlier policies to compare with a later one. */
const maxCompared = 50;

/**
 * Finds private and SaaS resources that no user, device or site can reach, in the order of ids. Each finding is certain
 * for the current facts. Not every unreachable resource is found, for example one that several policies deny together.
 * Resources of type INTERNET are skipped, because they exist outside the network and are blocked on purpose.
 *
 * @param idle ids of policies that never have an effect
 * @returns yields after each resource with the finding, and regularly while it evaluates the policies of one; otherwise
 *   the units of cost that were spent
 */
export function* unreachableResources(
  model: Model,
  sources: PossibleSources,
  idle: ReadonlySet<string>,
): Generator<Step | "resource" | UnreachableResource, void> {
  const lists = { PRIVATE: model.policies.PRIVATE, SAAS: model.policies.SAAS, SITETOSITE: model.policies.SITETOSITE };
  const general = new Map(
    Object.values(lists).map((list) => [list, list.everywhere.policies.filter(({ facts }) => !idle.has(facts.id))]),
  );
  const search: Search = { model, sources, idle, general };
  for (const id of yield* sorting(model.resources.ids())) {
    const resource = model.resources.get(id);
    if (resource === undefined || resource.type === "INTERNET") continue;
    const reason = yield* reasonOf(resource, [lists[resource.type], lists.SITETOSITE], search);
    yield reason === undefined ? "resource" : { resource, reason };
  }
}

interface Search {
  readonly model: Model;
  readonly sources: PossibleSources;
  readonly idle: ReadonlySet<string>;
  /** Policies for all resources, without idle ones. */
  readonly general: ReadonlyMap<PolicyList, readonly CompiledPolicy[]>;
}

function* reasonOf(
  resource: CompiledResource,
  lists: readonly PolicyList[],
  search: Search,
): Generator<Step, UnreachableReason | undefined> {
  const { addresses, gateways } = resource.facts;
  const { model } = search;
  const known = gateways.filter((id) => model.gateways.get(id) !== undefined);
  if (!addresses.some(({ protocols }) => protocols.length > 0)) return "no_addresses";
  if (known.length === 0) return "no_gateways";
  const online = known.filter((id) => model.gateways.get(id)?.status === "ONLINE");
  for (const list of lists) if (yield* isReached(resource, list, online, search)) return undefined;
  for (const list of lists) if (yield* isReached(resource, list, known, search)) return "gateways_offline";
  const isAllowed = lists.some(
    (list) => list.everywhere.policies.some(allows) || resource.policiesIn(list)?.policies.some(allows) === true,
  );
  return isAllowed ? "policies_let_nobody_in" : "no_policies";
}

function allows({ facts }: CompiledPolicy): boolean {
  return facts.action;
}

/** @param gateways gateways that may carry the traffic */
function* isReached(
  resource: CompiledResource,
  list: PolicyList,
  gateways: readonly string[],
  { model, sources, idle, general }: Search,
): Generator<Step, boolean> {
  if (gateways.length === 0) return false;
  const earlier: CompiledPolicy[] = [];
  let evaluated = 0;
  for (const policy of inOrder(general.get(list) ?? [], resource.policiesIn(list)?.policies ?? [])) {
    evaluated += 1;
    if (evaluated % 100 === 0) yield "policy";
    if (idle.has(policy.facts.id)) continue;
    const { action, gateways: named } = policy.facts;
    if (action && (named.length === 0 || named.some((id) => gateways.includes(id)))) {
      const live = yield* sources.of(policy);
      if (live !== undefined && !earlier.some((before) => coversSources(before, live))) return true;
    }
    if (earlier.length < maxCompared && decidesAlways(policy, model)) {
      if (policy.forAnyone) return false;
      earlier.push(policy);
    }
  }
  return false;
}

/** Merges two lists in order of rank. */
function* inOrder(left: readonly CompiledPolicy[], right: readonly CompiledPolicy[]): Generator<CompiledPolicy, void> {
  let [from, to] = [0, 0];
  for (;;) {
    const [one, other] = [left[from], right[to]];
    if (one === undefined && other === undefined) return;
    if (other === undefined || (one !== undefined && one.rank <= other.rank)) {
      from += 1;
      if (one !== undefined) yield one;
    } else {
      to += 1;
      yield other;
    }
  }
}
