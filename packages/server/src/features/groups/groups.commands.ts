import { isDeepStrictEqual } from "node:util";
import type * as operations from "@gatehouse/contract/operations/groups.operations";
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import type { Call } from "../../platform/call.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import { resultAfter } from "../../platform/db/result-after.ts";
import { embedJson } from "../../platform/embedded-json.ts";
import { newId } from "../../platform/ids.ts";
import { created, empty, type Outcome, record } from "../../platform/outcome.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { canonicalIds } from "../references/references.api.ts";
import { requireAssignable } from "../roles/roles.api.ts";
import { type GroupGrants, refuseGroupChangeBeyond } from "./group-grants.ts";
import * as queries from "./groups.queries.ts";
import { newGroupMaxDevices } from "./groups.rules.ts";
import { auditedGroup, groupView } from "./groups.view.ts";

export async function listGroups(call: Call<typeof operations.listGroups>): Promise<Outcome> {
  return call.reads.answer({
    load: (tx) => queries.listGroups(tx, call.listQuery),
    present: ({ rows, total }) => {
      const items = rows.map((row) => groupView(row, embedJson));
      return { body: pageOfItems(call.listQuery, items, total) };
    },
  });
}

export async function readGroup(call: Call<typeof operations.readGroup>): Promise<Outcome> {
  return call.reads.answer({
    load: (tx) => queries.readGroup(tx, call.parameters.id),
    present: (row) => ({ body: groupView(row, embedJson), version: row.version }),
  });
}

export async function createGroup(call: Call<typeof operations.createGroup>): Promise<Outcome> {
  const {
    name,
    roles = [],
    description = "",
    maxDevices = newGroupMaxDevices,
    deviceSessionLifetime = null,
    isSamlDefaultGroup = false,
    idpMapping = [],
  } = call.body;
  const perform = async (tx: CommandTx) => {
    const id = newId();
    await requireAssignable(tx, [{ pointer: "/roles", ids: roles, present: new Set() }], call.permissions);
    if (isSamlDefaultGroup) await releaseSamlDefault(call, tx, await queries.lockSamlDefaultGroup(tx));
    const roleIds = canonicalIds(roles);
    const limits = { maxDevices, deviceSessionLifetime };
    const stored = { id, name, description, ...limits, isSamlDefaultGroup, idpMapping, roleIds };
    // Both are sent at once, with the queries for the effect.
    const stores = queries.insertGroups(tx, call.granted, [stored], call.now);
    const reads = requireGroup(tx, id);
    if (!isSamlDefaultGroup) tx.announce([{ type: "group", id }]);
    const row = await resultAfter(stores, reads);
    tx.record({ type: "group", id, name, after: auditedGroup(row) });
    return created(groupView(row), row.version, `/tenants/groups/${id}`);
  };
  // A SAML default group takes the mark from another group.
  return isSamlDefaultGroup ? call.command(perform) : call.creation(1, perform);
}

export async function updateGroup(call: Call<typeof operations.updateGroup>): Promise<Outcome> {
  const { body } = call;
  const { id } = call.parameters;
  return call.command(async (tx) => {
    // Lock the mark before the group: every command that moves the mark locks in this order.
    const marked = body.isSamlDefaultGroup === true ? await queries.lockSamlDefaultGroup(tx) : undefined;
    const locked = await queries.lockGroup(tx, id);
    if (locked === undefined) throw new AppError("not_found");
    call.requireVersion(locked.version);
    const before = await requireGroup(tx, id);
    const current = storedGroup(before);
    const { roles, ...settings } = body;
    const wanted = { ...current, ...settings, ...(roles === undefined ? {} : { roleIds: canonicalIds(roles).sort() }) };
    const present = new Set(current.roleIds);
    if (roles !== undefined)
      await requireAssignable(tx, [{ pointer: "/roles", ids: roles, present }], call.permissions);
    // Roles that are new to the group were checked above.
    refuseGroupChangeBeyond(grantsOf(before, current), grantsOf(before, wanted), call.permissions);
    if (current.isSamlDefaultGroup && !wanted.isSamlDefaultGroup) throw new AppError("saml_default_group_required");
    if (isDeepStrictEqual(wanted, current)) return record(groupView(before, embedJson), before.version);
    // A command that checks what a member holds locks the member: it ends before the role is given, or sees the role.
    if (wanted.roleIds.some((role) => !present.has(role))) await queries.lockMembers(tx, id);
    if (!current.isSamlDefaultGroup && wanted.isSamlDefaultGroup) await releaseSamlDefault(call, tx, marked);
    await queries.updateGroups(tx, call.granted, [wanted], call.now);
    const after = await requireGroup(tx, id);
    tx.record({ type: "group", id, name: wanted.name, before: auditedGroup(before), after: auditedGroup(after) });
    return record(groupView(after, embedJson), after.version);
  });
}

export async function deleteGroup(call: Call<typeof operations.deleteGroup>): Promise<Outcome> {
  const { id } = call.parameters;
  return call.command(async (tx) => {
    const locked = await queries.lockGroupToDelete(tx, id);
    if (locked === undefined) throw new AppError("not_found");
    call.requireVersion(locked.version);
    const before = await requireGroup(tx, id);
    refuseGroupChangeBeyond(grantsOf(before, storedGroup(before)), undefined, call.permissions);
    const { name } = locked;
    if (!groupView(before).deleteable) {
      const which = before.is_default ? "tenant's default group" : "tenant's SAML default group";
      throw new AppError("group_is_default", { detail: `${name} is the ${which}.` });
    }
    await call.references.remove(tx, call.granted, { noun: "group", id, name }, call.now);
    await queries.deleteGroups(tx, call.granted, [id]);
    tx.record({ type: "group", id, name, before: auditedGroup(before) });
    return empty();
  });
}

function storedGroup({ group, roles }: queries.GroupRow): queries.StoredGroup {
  return {
    id: group.id,
    name: group.name,
    description: group.description,
    maxDevices: group.max_devices,
    deviceSessionLifetime: group.device_session_lifetime,
    isSamlDefaultGroup: group.is_saml_default_group,
    idpMapping: group.idp_mapping,
    roleIds: (roles ?? []).map((role) => role.id).sort(),
  };
}

/** @param settings settings of the group. Roles that are new to the group are omitted. */
function grantsOf({ roles }: queries.GroupRow, settings: queries.StoredGroup): GroupGrants {
  const remaining = (roles ?? []).filter(({ id }) => settings.roleIds.includes(id));
  return { ...settings, roles: remaining.map(({ type }) => type) };
}

/** Removes the mark from the SAML default group, which is locked, so that another group can get it. */
async function releaseSamlDefault(
  call: { readonly granted: Granted<"groups:write">; readonly now: Date },
  tx: CommandTx,
  id: string | undefined,
): Promise<void> {
  if (id === undefined) return;
  const before = await requireGroup(tx, id);
  await queries.updateGroups(tx, call.granted, [{ ...storedGroup(before), isSamlDefaultGroup: false }], call.now);
  const after = await requireGroup(tx, id);
  tx.record({
    type: "group",
    id,
    name: before.group.name,
    before: auditedGroup(before),
    after: auditedGroup(after),
  });
}

async function requireGroup(tx: TenantTx, id: string): Promise<queries.GroupRow> {
  const row = await queries.readGroup(tx, id);
  if (row === undefined) throw new AppError("not_found");
  return row;
}
