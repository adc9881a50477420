/**
 * Sessions of devices (docs/decisions/0125-device-sessions.md). A change of a session is a change of its device.
 * Models, gateways and devices therefore follow it.
 */
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import * as sessions from "./device-sessions.queries.ts";
import { readDevices } from "./devices.queries.ts";
import { deviceView } from "./devices.view.ts";

export { type NewDeviceSession, storeDeviceSession } from "./device-sessions.queries.ts";

/** Begins a new session of a device that exists. */
export function renewDeviceSession(
  tx: CommandTx,
  deviceId: string,
  session: sessions.NewDeviceSession,
  now: Date,
): Promise<void> {
  return changing(tx, [deviceId], now, () => sessions.storeDeviceSession(tx, deviceId, session, now));
}

/** Ends the sessions of a user's devices. */
export async function endDeviceSessionsOfUser(tx: CommandTx, userId: string, now: Date): Promise<void> {
  await endAll(tx, await sessions.lockOpenSessionsOfUser(tx, userId), now);
}

/** Ends the device sessions that began with a sign-in at a provider. */
export async function endDeviceSessionsOfProvider(
  tx: CommandTx,
  begun: sessions.ProviderSessions,
  now: Date,
): Promise<void> {
  await endAll(tx, await sessions.lockOpenSessionsOfProvider(tx, begun), now);
}

/** Ends the session of a device, without recording it: the caller changes the device too. */
export async function endSessionWithDevice(tx: TenantTx, deviceId: string, now: Date): Promise<void> {
  if (await sessions.lockOpenSession(tx, deviceId)) await sessions.storeSessionEnds(tx, [deviceId], now);
}

function endAll(tx: CommandTx, ids: readonly string[], now: Date): Promise<void> {
  return changing(tx, ids, now, () => sessions.storeSessionEnds(tx, ids, now));
}

/** Changes sessions, and records the changes of their devices. */
async function changing(tx: CommandTx, ids: readonly string[], now: Date, change: () => Promise<void>): Promise<void> {
  if (ids.length === 0) return;
  const before = new Map((await readDevices(tx, ids)).map(({ device }) => [device.id, deviceView(device, now)]));
  await change();
  await sessions.touchDevices(tx, ids, now);
  for (const { device } of await readDevices(tx, ids)) {
    const { id, name } = device;
    tx.record({ type: "device", id, name, before: before.get(id), after: deviceView(device, now) });
  }
}
