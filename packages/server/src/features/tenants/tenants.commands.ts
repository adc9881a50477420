import type * as operations from "@gatehouse/contract/operations/tenants.operations";
import type { NewTenant } from "@gatehouse/contract/records/tenant";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import type { Origin } from "../../platform/change.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import { newId } from "../../platform/ids.ts";
import { created, empty, type Outcome, record } from "../../platform/outcome.ts";
import { newApiKeyView } from "../api-keys/api-keys.api.ts";
import { provisionTenant } from "./provision-tenant.ts";
import * as queries from "./tenants.queries.ts";
import { tenantView } from "./tenants.view.ts";

export async function createTenant(call: Call<typeof operations.createTenant>): Promise<Outcome> {
  const { name, ownerEmail } = call.body;
  const tenantId = newId();
  return call.commandIn({ kind: "operator", tenantId }, tenantId, async (tx) => {
    const { tenant, apiKey } = await provisionTenant(tx, call.now, { name, ownerEmail });
    const body: NewTenant = { tenant: tenantView(tenant), apiKey: newApiKeyView(apiKey.row, apiKey.key) };
    await appendEvent(tx, call.origin, tenantId, { after: body.tenant });
    return created(body, tenant.version, `/operator/tenants/${tenantId}`);
  });
}

export async function listTenants(call: Call<typeof operations.listTenants>): Promise<Outcome> {
  const { rows, total } = await call.readAsOperator((tx) => queries.listTenants(tx, call.listQuery));
  return { kind: "page", page: pageOfItems(call.listQuery, rows.map(tenantView), total) };
}

export async function readTenant(call: Call<typeof operations.readTenant>): Promise<Outcome> {
  const row = await call.readAsOperator((tx) => queries.readTenant(tx, call.parameters.id));
  if (row === undefined) throw new AppError("not_found");
  return record(tenantView(row), row.version);
}

export async function deleteTenant(call: Call<typeof operations.deleteTenant>): Promise<Outcome> {
  const tenantId = call.parameters.id;
  return call.commandIn({ kind: "operator", tenantId }, tenantId, async (tx) => {
    const row = await queries.lockTenant(tx, tenantId);
    if (row === undefined) throw new AppError("not_found");
    call.requireVersion(row.version);
    const before = tenantView(row);
    await appendEvent(tx, call.origin, tenantId, { before });
    // The tenant's own audit record goes with it; that it is gone, replicas learn from the outbox, which stays.
    await queries.announceDeletion(tx, call.now);
    await queries.deleteTenant(tx);
    return empty();
  });
}

function appendEvent(
  transaction: Transaction,
  origin: Origin,
  tenantId: string,
  state: { readonly before?: object; readonly after?: object },
): Promise<void> {
  return queries.appendOperatorEvent(transaction, { id: newId(), origin, tenantId, ...state });
}
