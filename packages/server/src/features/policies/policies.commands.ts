import type * as operations from "@gatehouse/contract/operations/policies.operations";
import type { PolicyType } from "@gatehouse/contract/records/policy";
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import type { Call } from "../../platform/call.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import { earliest } from "../../platform/earliest.ts";
import { newId } from "../../platform/ids.ts";
import { created, empty, type Outcome, record } from "../../platform/outcome.ts";
import { canonicalSourceIps } from "../../platform/source-ips.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { allowRuleId } from "../admission-rules/admission-rules.api.ts";
import { devicesChangeAt } from "../devices/devices.api.ts";
import { heldTokens, noTokens, tokenViewer } from "../gateways/gateways.api.ts";
import * as queries from "./policies.queries.ts";
import {
  changedFields,
  fixedFieldsChanged,
  initialSettings,
  mergeSettings,
  type PolicyList,
  type PolicySettings,
  policyLists,
  type RequestedSettings,
} from "./policies.rules.ts";
import { policyView } from "./policies.view.ts";
import { closeOrderGap, lockPolicyOrder } from "./policy-order.queries.ts";
import * as writes from "./policy-writes.queries.ts";
import { validatePolicySettings } from "./validate-policy-settings.ts";

export async function listPolicies(call: Call<typeof operations.listPolicies>): Promise<Outcome> {
  const viewer = tokenViewer(call);
  return call.reads.answer({
    load: (tx) => queries.listPolicies(tx, call.listQuery, viewer.maySee),
    present({ rows, total }, hold) {
      const tokens = heldTokens(viewer, hold);
      const items = rows.map((row) => policyView(row, tokens, call.now));
      return { body: pageOfItems(call.listQuery, items, total) };
    },
    until: ({ rows }) => earliest(rows.map((row) => devicesChangeAt(row.devices, call.now))),
  });
}

export async function readPolicy(call: Call<typeof operations.readPolicy>): Promise<Outcome> {
  const viewer = tokenViewer(call);
  return call.reads.answer({
    load: (tx) => queries.readPolicy(tx, call.parameters.id, viewer.maySee),
    present: (row, hold) => ({ body: policyView(row, heldTokens(viewer, hold), call.now), version: row.version }),
    until: (row) => devicesChangeAt(row.devices, call.now),
  });
}

export async function createPolicy(call: Call<typeof operations.createPolicy>): Promise<Outcome> {
  const { name, type, action } = call.body;
  const requested = withCanonicalSourceIps(call.body);
  const tokens = tokenViewer(call);
  return call.command(async (tx) => {
    const id = newId();
    const initial = initialSettings(name, action, requested.rule ?? (await allowRuleId(tx)));
    const settings = mergeSettings(type, initial, requested);
    await validatePolicySettings(tx, { type, settings, requested, ruleType: "ALLOW" });
    await lockPolicyOrder(tx);
    await writes.insertPolicies(tx, call.granted, [storedPolicy({ id, type, active: true }, settings)], call.now);
    const lists = policyLists.filter((list) => settings[list].length > 0);
    await replaceLists(tx, call.granted, id, settings, lists);
    const row = await requirePolicy(tx, id, tokens.maySee);
    tx.record({ type: "policy", id, name, after: policyView(row, noTokens, call.now) });
    return created(policyView(row, tokens, call.now), row.version, `/tenants/policies/${id}`);
  });
}

export async function updatePolicy(call: Call<typeof operations.updatePolicy>): Promise<Outcome> {
  const { id } = call.parameters;
  const tokens = tokenViewer(call);
  return call.command(async (tx) => {
    const { type, active } = await lockForChange(call, tx, id);
    refuseOtherType(type, call.body.type);
    const requested = withCanonicalSourceIps(call.body);
    const row = await requirePolicy(tx, id, tokens.maySee);
    const current = settingsOf(row);
    const settings = mergeSettings(type, current, requested);
    if (row.is_default) refuseFixedFields(current, settings);
    await validatePolicySettings(tx, { type, settings, requested, ruleType: row.rule.type });
    const changed = new Set(changedFields(current, settings));
    if (changed.size === 0) return record(policyView(row, tokens, call.now), row.version);
    const changedLists = policyLists.filter((list) => changed.has(list));
    await writes.updatePolicies(tx, call.granted, [storedPolicy({ id, type, active }, settings)], call.now);
    await replaceLists(tx, call.granted, id, settings, changedLists);
    return recordChange(call, tx, row);
  });
}

export async function deletePolicy(call: Call<typeof operations.deletePolicy>): Promise<Outcome> {
  const { id } = call.parameters;
  return call.command(async (tx) => {
    const { type, order, name, is_default: isDefault } = await lockForChange(call, tx, id);
    if (isDefault)
      throw new AppError("policy_is_default", { detail: `${name} is the default policy. It cannot be deleted.` });
    const before = policyView(await requirePolicy(tx, id), noTokens, call.now);
    await writes.deletePolicies(tx, call.granted, [id]);
    await closeOrderGap(tx, call.granted, type, order);
    tx.record({ type: "policy", id, name, before });
    return empty();
  });
}

export async function deactivatePolicy(call: Call<typeof operations.deactivatePolicy>): Promise<Outcome> {
  const { id } = call.parameters;
  const tokens = tokenViewer(call);
  return call.command(async (tx) => {
    const { active, name, is_default: isDefault } = await lockForChange(call, tx, id);
    if (isDefault)
      throw new AppError("policy_is_default", { detail: `${name} is the default policy. It cannot be deactivated.` });
    const row = await requirePolicy(tx, id, tokens.maySee);
    if (!active) return record(policyView(row, tokens, call.now), row.version);
    await writes.updatePolicies(tx, call.granted, [storedPolicy({ ...row, active: false }, settingsOf(row))], call.now);
    return recordChange(call, tx, row);
  });
}

export async function reactivatePolicy(call: Call<typeof operations.reactivatePolicy>): Promise<Outcome> {
  const { id } = call.parameters;
  const tokens = tokenViewer(call);
  return call.command(async (tx) => {
    const { active, name } = await lockForChange(call, tx, id);
    if (active) throw new AppError("policy_not_deactivated", { detail: `The policy ${name} is active.` });
    // A concurrent deletion of a resource either finishes first, or waits and then finds the resource in an active
    // policy.
    await writes.lockListedResources(tx, id);
    const row = await requirePolicy(tx, id, tokens.maySee);
    await writes.updatePolicies(tx, call.granted, [storedPolicy({ ...row, active: true }, settingsOf(row))], call.now);
    return recordChange(call, tx, row);
  });
}

/** Records the change of a policy, and answers with the changed policy. */
async function recordChange(
  call: Call<typeof operations.updatePolicy | typeof operations.deactivatePolicy | typeof operations.reactivatePolicy>,
  tx: CommandTx,
  before: queries.WholePolicyRow,
): Promise<Outcome> {
  const tokens = tokenViewer(call);
  const after = await requirePolicy(tx, before.id, tokens.maySee);
  tx.record({
    type: "policy",
    id: after.id,
    name: after.name,
    before: policyView(before, noTokens, call.now),
    after: policyView(after, noTokens, call.now),
  });
  return record(policyView(after, tokens, call.now), after.version);
}

/**
 * Locks the order before the policy, even if the order does not change. COMMIT checks the position of a changed policy
 * again and would wait there for a command that moves policies, which waits for this policy.
 *
 * @throws AppError not_found, precondition_failed
 */
async function lockForChange(
  call: { requireVersion(version: number): void },
  tx: TenantTx,
  id: string,
): Promise<queries.PolicyRow> {
  await lockPolicyOrder(tx);
  const row = await queries.lockPolicy(tx, id);
  if (row === undefined) throw new AppError("not_found");
  call.requireVersion(row.version);
  return row;
}

async function requirePolicy(tx: TenantTx, id: string, withToken = false): Promise<queries.WholePolicyRow> {
  const row = await queries.readPolicy(tx, id, withToken);
  if (row === undefined) throw new AppError("not_found");
  return row;
}

/** @throws AppError invalid_address */
function withCanonicalSourceIps(requested: RequestedSettings): RequestedSettings {
  if (requested.sourceIps === undefined) return requested;
  const reading = canonicalSourceIps(requested.sourceIps);
  if (reading.ok) return { ...requested, sourceIps: reading.value };
  throw new AppError("invalid_address", { errors: reading.errors });
}

/** @throws AppError invalid_combination */
function refuseOtherType(type: PolicyType, requested: PolicyType | undefined): void {
  if (requested === undefined || requested === type) return;
  const message = `the policy is of type ${type}, which cannot be changed`;
  throw new AppError("invalid_combination", { detail: `/type: ${message}.`, errors: [{ pointer: "/type", message }] });
}

/** @throws AppError policy_is_default */
function refuseFixedFields(current: PolicySettings, settings: PolicySettings): void {
  const fields = fixedFieldsChanged(current, settings);
  if (fields.length === 0) return;
  throw new AppError("policy_is_default", {
    detail: `Only mode, gateways and description of the default policy can be changed, not ${fields.join(", ")}.`,
  });
}

/** A policy as it is written: settings without lists. */
function storedPolicy(
  { id, type, active }: Pick<writes.StoredPolicy, "id" | "type" | "active">,
  { groups: _g, users: _u, devices: _d, resources: _r, gateways: _w, ...settings }: PolicySettings,
): writes.StoredPolicy {
  return { id, type, active, ...settings };
}

async function replaceLists(
  tx: TenantTx,
  granted: Granted<"policies:write">,
  policyId: string,
  settings: PolicySettings,
  lists: readonly PolicyList[],
): Promise<void> {
  await Promise.all(
    lists.map((list) => writes.replacePolicyLists(tx, granted, list, [{ policyId, ids: settings[list] }])),
  );
}

function settingsOf(row: queries.WholePolicyRow): PolicySettings {
  const ids = (list: readonly { readonly id: string }[] | null) => (list ?? []).map(({ id }) => id);
  return {
    name: row.name,
    action: row.action,
    mode: row.mode,
    allGroups: row.all_groups,
    allUsers: row.all_users,
    allDevices: row.all_devices,
    allResources: row.all_resources,
    groups: ids(row.groups),
    users: ids(row.users),
    devices: ids(row.devices),
    resources: ids(row.resources),
    gateways: ids(row.gateways),
    sourceIps: row.source_ips,
    ruleId: row.rule.id,
    description: row.description,
  };
}
