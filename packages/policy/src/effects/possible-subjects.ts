/** Users whose access to a destination need not be evaluated one by one. */

import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import { indexingUsers } from "../model/members.ts";
import type { Model } from "../model/model.ts";
import { policiesInOrder } from "../model/policies-in-order.ts";
import type { PolicyList } from "../model/policy-list.ts";
import { entriesAtOnce, entryCost, policyCost, type Work, yieldAfter } from "../work.ts";
import { mayAllow } from "./access-level.ts";

/**
 * The users whom some policy may allow. All others have no access in any circumstances, with any device.
 *
 * @param resource undefined for an address of no resource
 * @returns undefined if any user may be allowed
 */
export function* usersWhoMayBeAllowed(
  model: Model,
  resource: CompiledResource | undefined,
): Work<ReadonlySet<string> | undefined> {
  const list = listFor(model, resource);
  const users = new Set<string>();
  let spent = 0;
  for (const policy of policiesInOrder(list, resource)) {
    spent += policyCost;
    if (spent >= yieldAfter) {
      yield spent;
      spent = 0;
    }
    if (!mayAllow(policy)) {
      if (deniesEveryone(policy)) return users;
      continue;
    }
    if (policy.forAnyone || policy.facts.allGroups || policy.facts.allDevices) return undefined;
    yield* addingUsersOf(model, policy, users);
  }
  yield spent;
  return list.fallback !== undefined && mayAllow(list.fallback) ? undefined : users;
}

/** Whether the first policy allows every user in all circumstances. */
export function allowsEveryone(model: Model, resource: CompiledResource | undefined): boolean {
  const list = listFor(model, resource);
  for (const policy of policiesInOrder(list, resource)) {
    const isUnconditional =
      policy.forAnyone && !policy.hasSourceIps && policy.ruleIn(model.rules)?.facts.type === "ALLOW";
    return isUnconditional && mayAllow(policy);
  }
  return list.fallback !== undefined && mayAllow(list.fallback);
}

function listFor(model: Model, resource: CompiledResource | undefined): PolicyList {
  return model.policies[resource?.type ?? "INTERNET"];
}

function deniesEveryone(policy: CompiledPolicy): boolean {
  return policy.forAnyone && !policy.hasSourceIps && !policy.facts.action;
}

/** Adds the users to whom the sources of a policy apply, at least with some device. */
export function* addingUsersOf(
  model: Model,
  { users, groups, devices }: Pick<CompiledPolicy, "users" | "groups" | "devices">,
  found: Set<string>,
): Work<void> {
  let unpaid = 0;
  for (const id of users) {
    found.add(id);
    unpaid += 1;
  }
  for (const id of devices) {
    const owner = model.devices.get(id)?.userId;
    if (owner !== undefined && owner !== null) found.add(owner);
    unpaid += 1;
  }
  if (groups.size > 0) {
    const members = yield* indexingUsers(model.users);
    for (const id of groups) {
      for (const userId of members.idsOf(id)) {
        found.add(userId);
        unpaid += 1;
        if (unpaid < entriesAtOnce) continue;
        yield unpaid * entryCost;
        unpaid = 0;
      }
    }
  }
  yield unpaid * entryCost;
}
