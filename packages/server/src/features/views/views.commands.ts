/** Views of the signed-in person. A view of another person is treated like a missing one. */
import { isDeepStrictEqual } from "node:util";
import type * as operations from "@gatehouse/contract/operations/views.operations";
import { maxViews } from "@gatehouse/contract/records/view";
import { AppError } from "../../platform/app-error.ts";
import { requirePerson } from "../../platform/authorization/recent-authentication.ts";
import type { Call } from "../../platform/call.ts";
import { newId } from "../../platform/ids.ts";
import { created, empty, type Outcome, record, wholeArray } from "../../platform/outcome.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./views.queries.ts";
import { viewView } from "./views.view.ts";

const defaults: queries.ViewSettings = {
  search: "",
  filters: {},
  sort: "",
  hiddenColumns: [],
  density: "comfortable",
  pageSize: 25,
};

export async function listViews(call: Call<typeof operations.listViews>): Promise<Outcome> {
  const { userId } = requirePerson(call);
  return wholeArray((await call.read((tx) => queries.readViewsOfUser(tx, userId))).map(viewView));
}

export async function readView(call: Call<typeof operations.readView>): Promise<Outcome> {
  const { userId } = requirePerson(call);
  const row = await call.read((tx) => queries.readView(tx, userId, call.parameters.id));
  if (row === undefined) throw new AppError("not_found");
  return record(viewView(row), row.version);
}

export async function createView(call: Call<typeof operations.createView>): Promise<Outcome> {
  const { userId } = requirePerson(call);
  const { list, name, ...given } = call.body;
  return call.command(async (tx) => {
    if ((await queries.countViewsForInsert(tx, userId)) >= maxViews) throw new AppError("view_limit_reached");
    const view = { id: newId(), userId, list, name, settings: { ...defaults, ...given } };
    const row = await queries.insertView(tx, view, call.now);
    tx.record({ type: "view", id: row.id, name, after: viewView(row) });
    return created(viewView(row), row.version, `/tenants/views/${row.id}`);
  });
}

export async function updateView(call: Call<typeof operations.updateView>): Promise<Outcome> {
  return call.command(async (tx) => {
    const before = await lockOwnView(call, tx);
    const { name = before.name, ...given } = call.body;
    const settings = { ...before.settings, ...given };
    if (name === before.name && isDeepStrictEqual(settings, before.settings)) {
      return record(viewView(before), before.version);
    }
    const after = await queries.updateView(tx, before.id, { name, settings }, call.now);
    tx.record({ type: "view", id: after.id, name, before: viewView(before), after: viewView(after) });
    return record(viewView(after), after.version);
  });
}

export async function deleteView(call: Call<typeof operations.deleteView>): Promise<Outcome> {
  return call.command(async (tx) => {
    const row = await lockOwnView(call, tx);
    await queries.deleteView(tx, row.id);
    tx.record({ type: "view", id: row.id, name: row.name, before: viewView(row) });
    return empty();
  });
}

type ViewCall = Pick<Call<typeof operations.deleteView>, "parameters" | "requireVersion" | "session">;

/** @throws AppError not_found, precondition_failed */
async function lockOwnView(call: ViewCall, tx: TenantTx): Promise<queries.ViewRow> {
  const row = await queries.lockView(tx, requirePerson(call).userId, call.parameters.id);
  if (row === undefined) throw new AppError("not_found");
  call.requireVersion(row.version);
  return row;
}
