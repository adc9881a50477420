/** Signing in on a device: the parts of the device grant that concern enrolled devices (docs/decisions/0125). */
import type { Device } from "@gatehouse/contract/records/device";
import type { DeviceRequest, IssuedDevice } from "../../http/authorization-server.ts";
import { AppError } from "../../platform/app-error.ts";
import type { Database } from "../../platform/db/database.ts";
import { OAuthError } from "../../platform/oauth-error.ts";
import { hashToken } from "../../platform/secrets/tokens.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import {
  deviceView,
  findPresentedDevice,
  lockDevice,
  type NewDeviceSession,
  readDevices,
} from "../devices/devices.api.ts";
import { lockPersonSession, lockUserWithSession } from "../sessions/sessions.api.ts";

export const invalidGrant = "The code or token is unknown, expired, or was issued for something else.";
/** The token in the answer to a device that keeps its token. OAuth requires one. */
export const unchangedToken = "unchanged";

/**
 * If a device presents its token, the request is about this device, whatever else the program says.
 *
 * @throws OAuthError invalid_grant, for which the address is counted
 */
export async function withEnrolledDevice(database: Database, asked: DeviceRequest): Promise<DeviceRequest> {
  const { deviceToken } = asked;
  if (deviceToken === undefined) return asked;
  const presented = await findPresentedDevice(database, hashToken(deviceToken));
  if (presented === undefined) throw new OAuthError("invalid_grant", "The token of the device is not valid.");
  const { tenant_id: tenantId, device_id: deviceId } = presented;
  const [row] = await database.snapshot({ kind: "tenant", tenantId }, ({ query }) =>
    readDevices({ tenantId, query }, [deviceId]),
  );
  if (row === undefined) throw new OAuthError("invalid_grant", "The token of the device is not valid.");
  const { name, os, os_version: osVersion, app_version: appVersion } = row.device;
  const { hardware_id: hardwareId, public_key: publicKey } = row.device;
  const renews = { tenantId, deviceId };
  return { ...asked, machine: name, device: { os, osVersion, appVersion, hardwareId, publicKey, renews } };
}

/**
 * The session of a device that a person's session begins. Locks the user and the session, like everything that ends
 * sessions: commands call this before they lock a device.
 *
 * @throws AppError session_ended
 */
export async function deviceSessionFrom(tx: TenantTx, sessionId: string): Promise<NewDeviceSession> {
  await lockUserWithSession(tx, sessionId);
  const approver = await lockPersonSession(tx, sessionId);
  if (approver === undefined) throw new AppError("session_ended");
  const { auth_time: authTime, amr, method, provider_id: providerId, provider_session: providerSession } = approver;
  const methods = amr.length === 0 ? [method] : amr;
  return { authenticatedAt: new Date(authTime), methods, providerId, providerSession };
}

/** @throws AppError not_found */
export async function requireOwnDevice(tx: TenantTx, deviceId: string, userId: string): Promise<void> {
  const device = await lockDevice(tx, deviceId);
  if (device?.user_id === userId) {
    if (device.enrolment_key_id !== null) {
      throw new AppError("not_found", { detail: "Nobody signs in on this device: an enrolment key enrolled it." });
    }
    // After a reactivation, the user has to sign in again.
    if (device.active || device.approval_pending) return;
    throw new AppError("not_found", { detail: "The device is deactivated. Ask an administrator to reactivate it." });
  }
  throw new AppError("not_found", { detail: "The device is not one of yours. Its user has to sign in." });
}

export async function readDeviceView(tx: TenantTx, id: string, now: Date): Promise<Device> {
  const [row] = await readDevices(tx, [id]);
  if (row === undefined) throw new OAuthError("invalid_grant", invalidGrant);
  return deviceView(row.device, now);
}

export function issuedDevice({ id, name, approval, session }: Device): IssuedDevice["device"] {
  return {
    id,
    name,
    ...(approval === undefined ? {} : { approval }),
    ...(session?.endsAt === undefined ? {} : { session_ends_at: session.endsAt }),
  };
}
