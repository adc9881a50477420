/** Commands on one address or gateway of a resource. Each also changes the resource and increments its version. */
import type * as operations from "@gatehouse/contract/operations/resources.operations";
import { resourceLimits } from "@gatehouse/contract/operations/resources.operations";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { newId } from "../../platform/ids.ts";
import { created, empty, type Outcome } from "../../platform/outcome.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import {
  addressView,
  auditedAddress,
  checkAnswersWithin,
  checkNewAddress,
  deleteAddresses,
  insertAddresses,
  lockAddress,
  readAddress,
  requirePortLimit,
} from "../addresses/addresses.api.ts";
import { noTokens } from "../gateways/gateways.api.ts";
import { canonicalIds, existingRecords, requireIds } from "../references/references.api.ts";
import * as queries from "./resources.queries.ts";
import { storedResource } from "./resources.rules.ts";
import { resourceView } from "./resources.view.ts";

export async function addResourceAddress(call: Call<typeof operations.addResourceAddress>): Promise<Outcome> {
  const { id } = call.parameters;
  const { address, protocols, answersWithin } = call.body;
  return call.command(async (tx) => {
    const row = await lockResource(tx, id);
    call.requireVersion(row.version);
    const check = checkNewAddress(address, row.type);
    if (!check.ok) throw new AppError("invalid_address", { errors: [bodyField("/address", check.message)] });
    const answers = checkAnswersWithin(answersWithin, check.value, row.type);
    if (!answers.ok) throw new AppError("invalid_address", { errors: answers.errors });
    const protocolIds = canonicalIds(protocols);
    const known = await existingRecords(tx, "protocol", protocolIds);
    requireIds({ pointer: "/protocols", noun: "protocol", ids: protocols }, known);
    const before = await requireResource(tx, id);
    refuseBeyond("addresses", row, before.addresses);
    await requirePortLimit(tx, { resourceId: id, pointer: "/protocols", before: [], after: protocolIds });
    const addressId = newId();
    const { text, isIp } = check.value;
    const added = { id: addressId, resourceId: id, address: text, isIp, protocolIds, answersWithin: answers.value };
    await insertAddresses(tx, call.granted, [added], call.now);
    await recordChange(call, tx, before);
    const made = await requireAddress(tx, addressId);
    tx.record({ type: "address", id: addressId, name: made.whole.address, after: auditedAddress(made) });
    return created(addressView(made.whole, row.type), made.version, `/tenants/addresses/${addressId}`);
  });
}

export async function removeResourceAddress(call: Call<typeof operations.removeResourceAddress>): Promise<Outcome> {
  const { id, addressId } = call.parameters;
  return call.command(async (tx) => {
    const row = await lockResource(tx, id);
    const address = await lockAddress(tx, addressId);
    if (address?.resource_id !== id) throw new AppError("not_found");
    call.requireVersion(row.version);
    const before = await requireResource(tx, id);
    const gone = await requireAddress(tx, addressId);
    await deleteAddresses(tx, call.granted, [addressId]);
    await recordChange(call, tx, before);
    tx.record({ type: "address", id: addressId, name: gone.whole.address, before: auditedAddress(gone) });
    return empty();
  });
}

export async function connectGateway(call: Call<typeof operations.connectGateway>): Promise<Outcome> {
  const { id, gatewayId } = call.parameters;
  return call.command(async (tx) => {
    const row = await lockResource(tx, id);
    if (!(await existingRecords(tx, "gateway", [gatewayId])).has(gatewayId)) throw new AppError("not_found");
    call.requireVersion(row.version);
    const before = await requireResource(tx, id);
    if (isConnected(before, gatewayId)) return empty(row.version);
    refuseBeyond("gateways", row, before.gateways);
    await queries.connectGateway(tx, call.granted, id, gatewayId);
    return empty(await recordChange(call, tx, before));
  });
}

export async function disconnectGateway(call: Call<typeof operations.disconnectGateway>): Promise<Outcome> {
  const { id, gatewayId } = call.parameters;
  return call.command(async (tx) => {
    const row = await lockResource(tx, id);
    const before = await requireResource(tx, id);
    if (!isConnected(before, gatewayId)) throw new AppError("not_found");
    call.requireVersion(row.version);
    // Deleting a gateway deletes its connections without locking the resource, so the connection may be gone by now.
    const done = await queries.disconnectGateway(tx, call.granted, id, gatewayId);
    if (!done) throw new AppError("not_found");
    await recordChange(call, tx, before);
    return empty();
  });
}

function isConnected({ gateways }: queries.WholeResourceRow, gatewayId: string): boolean {
  return (gateways ?? []).some((gateway) => gateway.id === gatewayId);
}

/** @throws AppError resource_full */
function refuseBeyond(
  kind: "addresses" | "gateways",
  { name }: queries.ResourceRow,
  existing: readonly unknown[] | null,
): void {
  const bound = resourceLimits[kind];
  if (existing === null || existing.length < bound) return;
  throw new AppError("resource_full", {
    detail: `The resource ${name} has ${existing.length} ${kind}; the limit is ${bound}.`,
  });
}

/**
 * Increments the resource's version and records the change.
 *
 * @returns the new version
 */
async function recordChange(
  call: Pick<Call<typeof operations.connectGateway>, "granted" | "now">,
  tx: CommandTx,
  before: queries.WholeResourceRow,
): Promise<number> {
  const { id, name } = before;
  await queries.updateResources(tx, call.granted, [storedResource(before)], call.now);
  const after = await requireResource(tx, id);
  tx.record({
    type: "resource",
    id,
    name,
    before: resourceView(before, noTokens),
    after: resourceView(after, noTokens),
  });
  return after.version;
}

/** @throws AppError not_found */
async function lockResource(tx: TenantTx, id: string): Promise<queries.ResourceRow> {
  const row = await queries.lockResource(tx, id);
  if (row === undefined) throw new AppError("not_found");
  return row;
}

/** @throws AppError not_found */
async function requireResource(tx: TenantTx, id: string): Promise<queries.WholeResourceRow> {
  const row = await queries.readResource(tx, id, false);
  if (row === undefined) throw new AppError("not_found");
  return row;
}

async function requireAddress(tx: TenantTx, id: string) {
  const row = await readAddress(tx, id);
  if (row === undefined) throw new AppError("not_found");
  return row;
}
