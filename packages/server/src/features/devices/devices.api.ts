/** Public API of this feature: devices. */

export { routesOfDevice } from "./device-configuration.commands.ts";
export { type DeviceKeyRow, lockDeviceKeys, storeDeviceKeys } from "./device-keys.queries.ts";
export {
  endDeviceSessionsOfProvider,
  endDeviceSessionsOfUser,
  type NewDeviceSession,
  renewDeviceSession,
  type SessionEnd,
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
  deviceSessionFacts,
  devicesChangeAt,
  deviceView,
  type PolicyDeviceJson,
  policyDeviceJson,
  policyDeviceView,
} from "./devices.view.ts";
export { deviceReferences, orphanDevices } from "./orphan-devices.ts";
