import { isDeepStrictEqual } from "node:util";
import type * as operations from "@gatehouse/contract/operations/addresses.operations";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { empty, type Outcome, record, streamed, wholeArray } from "../../platform/outcome.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { gatewaysOfAddress, gatewayView, tokenViewer } from "../gateways/gateways.api.ts";
import { canonicalIds, existingRecords, requireIds } from "../references/references.api.ts";
import * as queries from "./addresses.queries.ts";
import { checkAnswersWithin, checkNewAddress } from "./addresses.rules.ts";
import { addressView, auditedAddress } from "./addresses.view.ts";
import { requirePortLimit } from "./port-limit.ts";

export async function listAddresses(call: Call<typeof operations.listAddresses>): Promise<Outcome> {
  const views = (rows: readonly queries.WholeAddressRow[]) =>
    rows.map((row) => addressView(row.whole, row.resource_type));
  return streamed(
    async (afterId, limit) => views(await call.read((tx) => queries.listAddresses(tx, afterId, limit))),
    async ({ offset, limit }) => {
      const { rows, total } = await call.read((tx) => queries.listAddressPart(tx, offset, limit));
      return { items: views(rows), total };
    },
  );
}

export async function readAddress(call: Call<typeof operations.readAddress>): Promise<Outcome> {
  const row = await call.read((tx) => queries.readAddress(tx, call.parameters.id));
  if (row === undefined) throw new AppError("not_found");
  return record(addressView(row.whole, row.resource_type), row.version);
}

export async function updateAddress(call: Call<typeof operations.updateAddress>): Promise<Outcome> {
  const { id } = call.parameters;
  const { address, protocols, answersWithin } = call.body;
  return call.command(async (tx) => {
    // Two addresses of a resource together could exceed its limit.
    await queries.lockOwner(tx, id);
    const row = await lockForChange(call, tx, id);
    const before = await requireAddress(tx, id);
    const check = checkNewAddress(address, row.resource_type, before.whole.address);
    if (!check.ok) throw new AppError("invalid_address", { errors: [bodyField("/address", check.message)] });
    const answers = checkAnswersWithin(
      // A name keeps its limit unless the request changes it. An IP address has none.
      answersWithin === undefined && !check.value.isIp ? before.whole.answers_within : answersWithin,
      check.value,
      row.resource_type,
    );
    if (!answers.ok) throw new AppError("invalid_address", { errors: answers.errors });
    const ids = canonicalIds(protocols);
    requireIds({ pointer: "/protocols", noun: "protocol", ids: protocols }, await existingRecords(tx, "protocol", ids));
    const current = (before.whole.protocols ?? []).map((protocol) => protocol.id);
    const isSame =
      check.value.text === before.whole.address &&
      isDeepStrictEqual(ids, current) &&
      isDeepStrictEqual(answers.value, before.whole.answers_within);
    if (isSame) {
      return record(addressView(before.whole, before.resource_type), before.version);
    }
    const changed = { resourceId: row.resource_id, pointer: "/protocols", before: current, after: ids };
    await requirePortLimit(tx, changed);
    const { text, isIp } = check.value;
    const stored = {
      id,
      resourceId: row.resource_id,
      address: text,
      isIp,
      protocolIds: ids,
      answersWithin: answers.value,
    };
    await queries.updateAddresses(tx, call.granted, [stored], call.now);
    const after = await requireAddress(tx, id);
    const name = after.whole.address;
    tx.record({ type: "address", id, name, before: auditedAddress(before), after: auditedAddress(after) });
    return record(addressView(after.whole, after.resource_type), after.version);
  });
}

export async function deleteAddress(call: Call<typeof operations.deleteAddress>): Promise<Outcome> {
  const { id } = call.parameters;
  return call.command(async (tx) => {
    await lockForChange(call, tx, id);
    const before = await requireAddress(tx, id);
    await queries.deleteAddresses(tx, call.granted, [id]);
    tx.record({ type: "address", id, name: before.whole.address, before: auditedAddress(before) });
    return empty();
  });
}

export async function listAddressGateways(call: Call<typeof operations.listAddressGateways>): Promise<Outcome> {
  const { id } = call.parameters;
  const tokens = tokenViewer(call);
  const [address, gateways] = await call.read((tx) =>
    Promise.all([queries.readAddress(tx, id), gatewaysOfAddress(tx, id, tokens.maySee)]),
  );
  if (address === undefined) throw new AppError("not_found");
  // The number of gateways per resource is limited by configureLoadBalancing.
  return wholeArray(gateways.map((row) => gatewayView(row, tokens)));
}

/** @throws AppError not_found, precondition_failed */
async function lockForChange(
  call: { requireVersion(version: number): void },
  tx: TenantTx,
  id: string,
): Promise<queries.AddressRow> {
  const row = await queries.lockAddress(tx, id);
  if (row === undefined) throw new AppError("not_found");
  call.requireVersion(row.version);
  return row;
}

async function requireAddress(tx: TenantTx, id: string): Promise<queries.WholeAddressRow> {
  const row = await queries.readAddress(tx, id);
  if (row === undefined) throw new AppError("not_found");
  return row;
}
