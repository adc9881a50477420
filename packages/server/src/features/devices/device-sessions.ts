/**
 * Sessions of devices (docs/decisions/0125-device-sessions.md). A change of a session is a change of its device.
 * Models, gateways and devices therefore follow it.
 */
import { maxEndedSessions } from "@gatehouse/contract/records/device-session";
import { AppError } from "../../platform/app-error.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import * as sessions from "./device-sessions.queries.ts";
import { readDevices } from "./devices.queries.ts";
import { deviceView } from "./devices.view.ts";

export { type NewDeviceSession, type SessionEnd, storeDeviceSession } from "./device-sessions.queries.ts";

/** Begins a new session of a device that exists. */
export function renewDeviceSession(
  tx: CommandTx,
  deviceId: string,
  session: sessions.NewDeviceSession,
  now: Date,
): Promise<void> {
  return changeSessions(tx, [deviceId], now, () => sessions.storeDeviceSession(tx, deviceId, session, now));
}

/** Ends the sessions of a user's devices. */
export async function endDeviceSessionsOfUser(tx: CommandTx, userId: string, end: sessions.SessionEnd): Promise<void> {
  const isDeactivation = end.reason === "user-deactivated";
  await endAll(tx, await sessions.lockOpenSessionsOfUser(tx, userId, isDeactivation), end);
}

/** Ends the device sessions that began with a sign-in at a provider. */
export async function endDeviceSessionsOfProvider(
  tx: CommandTx,
  begun: sessions.ProviderSessions,
  end: sessions.SessionEnd,
): Promise<void> {
  await endAll(tx, await sessions.lockOpenSessionsOfProvider(tx, begun), end);
}

/** Ends the session of a device that is being deactivated. The caller records the change of the device. */
export async function endSessionWithDevice(tx: TenantTx, deviceId: string, end: sessions.SessionEnd): Promise<void> {
  if (await sessions.lockSessionToDeactivate(tx, deviceId)) await sessions.storeSessionEnds(tx, [deviceId], end);
}

/**
 * Asks the users of devices to sign in again, with a bounded number of statements.
 *
 * @throws AppError too_many_devices
 */
export async function askToSignIn(
  tx: CommandTx,
  asked: sessions.AskedDevices,
  end: Omit<sessions.SessionEnd, "reason">,
): Promise<void> {
  const ids = await sessions.lockAskedDevices(tx, asked, maxEndedSessions + 1);
  if (ids.length > maxEndedSessions) {
    throw new AppError("too_many_devices", {
      detail: `The request affects more than ${maxEndedSessions} devices. Name smaller groups or individual users.`,
    });
  }
  await endAll(tx, ids, { ...end, reason: "sign-in-required" });
}

function endAll(tx: CommandTx, ids: readonly string[], end: sessions.SessionEnd): Promise<void> {
  return changeSessions(tx, ids, end.at, () => sessions.storeSessionEnds(tx, ids, end));
}

/** Changes sessions, and records the changes of their devices. */
async function changeSessions(
  tx: CommandTx,
  ids: readonly string[],
  now: Date,
  change: () => Promise<void>,
): Promise<void> {
  if (ids.length === 0) return;
  const before = new Map((await readDevices(tx, ids)).map(({ device }) => [device.id, deviceView(device, now)]));
  await change();
  await sessions.touchDevices(tx, ids, now);
  for (const { device } of await readDevices(tx, ids)) {
    const { id, name } = device;
    tx.record({ type: "device", id, name, before: before.get(id), after: deviceView(device, now) });
  }
}
