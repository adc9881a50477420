import { isDeepStrictEqual } from "node:util";
import type * as operations from "@gatehouse/contract/operations/devices.operations";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import { empty, type Outcome, record } from "../../platform/outcome.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { endSessionWithDevice } from "./device-sessions.ts";
import * as queries from "./devices.queries.ts";
import { devicesChangeAt, deviceView } from "./devices.view.ts";

export async function listDevices(call: Call<typeof operations.listDevices>): Promise<Outcome> {
  return call.reads.answer({
    load: (tx) => queries.listDevices(tx, call.listQuery),
    present({ rows, total }) {
      const items = rows.map(({ device }) => deviceView(device, call.now));
      return { body: pageOfItems(call.listQuery, items, total) };
    },
    until: ({ rows }) => changeAt(rows, call.now),
  });
}

function changeAt(rows: readonly queries.DeviceRow[], now: Date): number {
  return devicesChangeAt(
    rows.map(({ device }) => device),
    now,
  );
}

export async function readDevice(call: Call<typeof operations.readDevice>): Promise<Outcome> {
  return call.reads.answer({
    load: async (tx) => (await queries.readDevices(tx, [call.parameters.id]))[0],
    present: (row) => ({ body: deviceView(row.device, call.now), version: row.version }),
    until: (row) => changeAt([row], call.now),
  });
}

export async function deleteDevice(call: Call<typeof operations.deleteDevice>): Promise<Outcome> {
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx);
    const before = await requireDevice(tx, row.id);
    await call.references.remove(tx, call.granted, { noun: "device", id: row.id, name: row.name }, call.now);
    await queries.deleteDevice(tx, call.granted, row.id);
    tx.record({ type: "device", id: row.id, name: row.name, before: deviceView(before.device, call.now) });
    return empty();
  });
}

export async function deactivateDevice(call: Call<typeof operations.deactivateDevice>): Promise<Outcome> {
  return changeDevice(call, (tx, { id, active }) => (active ? deactivate(call, tx, id) : undefined));
}

/** After a reactivation, the user has to sign in again on the device if sessions end. */
async function deactivate(
  { granted, now, actor: by }: Call<typeof operations.deactivateDevice>,
  tx: TenantTx,
  id: string,
): Promise<void> {
  await endSessionWithDevice(tx, id, { at: now, reason: "device-deactivated", by });
  await queries.setDeviceActive(tx, granted, id, false, now);
}

export async function reactivateDevice(call: Call<typeof operations.reactivateDevice>): Promise<Outcome> {
  return changeDevice(call, (tx, { id, name, active, approval_pending: waits, user_id: userId }) => {
    if (active) throw new AppError("device_not_deactivated", { detail: `The device ${name} is not deactivated.` });
    if (userId === null) throw new AppError("device_without_user", { detail: `The user of ${name} was deleted.` });
    // A device that waits was never active, so nobody has taken its access away.
    if (!waits) call.requireRecentAuthentication();
    return queries.setDeviceActive(tx, call.granted, id, true, call.now);
  });
}

export async function replaceDevicePosture(call: Call<typeof operations.replaceDevicePosture>): Promise<Outcome> {
  return changeDevice(call, (tx, { id, posture }) =>
    isDeepStrictEqual(call.body, posture)
      ? undefined
      : queries.setDevicePosture(tx, call.granted, id, call.body, call.now),
  );
}

export async function replaceDeviceTags(call: Call<typeof operations.replaceDeviceTags>): Promise<Outcome> {
  return changeDevice(call, (tx, { id, tags }) =>
    isDeepStrictEqual(call.body.tags, tags)
      ? undefined
      : queries.setDeviceTags(tx, call.granted, id, call.body.tags, call.now),
  );
}

type DeviceCall = Pick<Call<typeof operations.deactivateDevice>, "parameters" | "now" | "requireVersion" | "command">;

/**
 * Changes one device: locks it, checks If-Match, records the change, and answers with the device.
 *
 * @param change changes the row; returns undefined if nothing is to be changed
 * @throws AppError not_found, precondition_failed
 */
export async function changeDevice(
  call: DeviceCall,
  change: (tx: TenantTx, row: queries.LockedDevice) => Promise<void> | undefined,
): Promise<Outcome> {
  return call.command(async (tx) => {
    const row = await lockForChange(call, tx);
    const before = await requireDevice(tx, row.id);
    const changing = change(tx, row);
    if (changing === undefined) return record(deviceView(before.device, call.now), before.version);
    await changing;
    const after = await requireDevice(tx, row.id);
    const view = deviceView(after.device, call.now);
    tx.record({
      type: "device",
      id: row.id,
      name: row.name,
      before: deviceView(before.device, call.now),
      after: view,
    });
    return record(view, after.version);
  });
}

/** @throws AppError not_found, precondition_failed */
export async function lockForChange(
  call: Pick<DeviceCall, "parameters" | "requireVersion">,
  tx: TenantTx,
): Promise<queries.LockedDevice> {
  const row = await queries.lockDevice(tx, call.parameters.id);
  if (row === undefined) throw new AppError("not_found");
  call.requireVersion(row.version);
  return row;
}

export async function requireDevice(tx: TenantTx, id: string): Promise<queries.DeviceRow> {
  const [row] = await queries.readDevices(tx, [id]);
  if (row === undefined) throw new AppError("not_found");
  return row;
}
