/** The face of this feature: devices. */

export { type DeviceKeyRow, lockDeviceKeys, storeDeviceKeys } from "./device-keys.queries.ts";
export {
  endDeviceSessionsOfProvider,
  endDeviceSessionsOfUser,
  type NewDeviceSession,
  renewDeviceSession,
  storeDeviceSession,
} from "./device-sessions.ts";
export { issueDeviceToken } from "./device-token.commands.ts";
export { type DeviceIdentity, findPresentedDevice, identitiesOfDevices } from "./device-token.queries.ts";
export {
  countDevicesOfUser,
  type DeviceRow,
  deleteDevice,
  insertDevice,
  type LockedDevice,
  lockDevice,
  readDevices,
  readDevicesOfUser,
  setDeviceName,
} from "./devices.queries.ts";
export { deviceLimit } from "./devices.rules.ts";
export {
  type DeviceJson,
  deviceJson,
  deviceSessionEnd,
  devicesChangeAt,
  deviceView,
  type PolicyDeviceJson,
  policyDeviceJson,
  policyDeviceView,
} from "./devices.view.ts";
export { deviceReferences, orphanDevices } from "./orphan-devices.ts";
