import type * as operations from "@gatehouse/contract/operations/groups.operations";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import type { Call } from "../../platform/call.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import { newId } from "../../platform/ids.ts";
import { created, type Outcome, record } from "../../platform/outcome.ts";
import { askable, requireKnown } from "../../platform/references.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { knownRoles } from "../roles/roles.api.ts";
import * as queries from "./groups.queries.ts";
import { auditedGroup, groupView } from "./groups.view.ts";

/** Devices that a member of a new group may have (contract, "Records"). */
const newGroupMaxDevices = 5;

export async function listGroups(call: Call<typeof operations.listGroups>): Promise<Outcome> {
  const { rows, total } = await call.read((tx) => queries.listGroups(tx, call.listQuery));
  return { kind: "page", page: pageOfItems(call.listQuery, rows.map(groupView), total) };
}

export async function readGroup(call: Call<typeof operations.readGroup>): Promise<Outcome> {
  const row = await call.read((tx) => queries.readGroup(tx, call.parameters.id));
  if (row === undefined) throw new AppError("not_found");
  return record(groupView(row), row.version);
}

export async function createGroup(call: Call<typeof operations.createGroup>): Promise<Outcome> {
  const {
    name,
    roles = [],
    description = "",
    maxDevices = newGroupMaxDevices,
    isSamlDefaultGroup = false,
    idpMapping = [],
  } = call.body;
  return call.command(async (tx) => {
    const id = newId();
    await requireAssignable(tx, roles);
    if (isSamlDefaultGroup) await releaseSamlDefault(tx, call.granted, call.now);
    await queries.insertGroup(
      tx,
      call.granted,
      { id, name, description, maxDevices, isSamlDefaultGroup, idpMapping, roleIds: askable(roles) },
      call.now,
    );
    const row = await requireGroup(tx, id);
    tx.record({ type: "group", id, name, after: auditedGroup(row) });
    return created(groupView(row), row.version, `/tenants/groups/${id}`);
  });
}

/** @throws AppError unknown_reference, role_not_assignable */
async function requireAssignable(tx: TenantTx, ids: readonly string[]): Promise<void> {
  const known = await knownRoles(tx, askable(ids));
  requireKnown({ pointer: "/roles", noun: "role", ids }, new Set(known.keys()));
  const owner = ids.findIndex((id) => known.get(id.toLowerCase()) === "OWNER");
  if (owner < 0) return;
  throw new AppError("role_not_assignable", { errors: [bodyField(`/roles/${owner}`, "is the owner's role")] });
}

/** Takes the mark off the SAML default group, so that another one can have it. */
async function releaseSamlDefault(tx: CommandTx, granted: Granted<"groups:write">, at: Date): Promise<void> {
  const id = await queries.lockSamlDefaultGroup(tx);
  if (id === undefined) return;
  const before = await requireGroup(tx, id);
  await queries.unmarkSamlDefaultGroup(tx, granted, id, at);
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
