/** What becomes of policies when something that they name is deleted. */
import type { Granted } from "../../platform/authorization/granted.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./leave-policies.queries.ts";
import type { NamedPolicy } from "./policy-uses.queries.ts";

/** Takes a user who is about to be deleted off every policy, and records the change of each. */
export async function takeUserOutOfPolicies(
  tx: CommandTx,
  granted: Granted<"users:write">,
  { id, email }: { readonly id: string; readonly email: string },
): Promise<void> {
  recordLeaving(tx, await queries.takeUserOut(tx, granted, id), { user: { id, email } });
}

/** Takes a device that is about to be deleted off every policy, active or not, and records the change of each. */
export async function takeDeviceOutOfPolicies(
  tx: CommandTx,
  granted: Granted<"devices:write">,
  { id, name }: { readonly id: string; readonly name: string },
): Promise<void> {
  recordLeaving(tx, await queries.takeDeviceOut(tx, granted, id), { device: { id, name } });
}

/** Takes a group that is about to be deleted off every policy, active or not, and records the change of each. */
export async function takeGroupOutOfPolicies(
  tx: CommandTx,
  granted: Granted<"groups:write">,
  { id, name }: { readonly id: string; readonly name: string },
): Promise<void> {
  recordLeaving(tx, await queries.takeGroupOut(tx, granted, id), { group: { id, name } });
}

/** Takes a resource that is about to be deleted off every policy, active or not, and records the change of each. */
export async function takeResourceOutOfPolicies(
  tx: CommandTx,
  granted: Granted<"resources:write">,
  { id, name }: { readonly id: string; readonly name: string },
): Promise<void> {
  recordLeaving(tx, await queries.takeResourceOut(tx, granted, id), { resource: { id, name } });
}

/** Only what left: a policy may name thousands of records, and a record may be named by many policies. */
function recordLeaving(tx: CommandTx, policies: readonly NamedPolicy[], left: object): void {
  for (const { id, name } of policies) {
    tx.record({ type: "policy", id, name, before: { id, name, ...left }, after: { id, name } });
  }
}
