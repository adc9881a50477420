/** What other features may ask of devices. */

export { findPresentedDevice, identitiesOfDevices } from "./device-token.queries.ts";
export { countDevicesOfUser, insertDevice, readDevices } from "./devices.queries.ts";
export { deviceLimit } from "./devices.rules.ts";
export {
  type DeviceJson,
  deviceJson,
  deviceView,
  type PolicyDeviceJson,
  policyDeviceJson,
  policyDeviceView,
} from "./devices.view.ts";
export { deviceReferences, orphanDevices } from "./orphan-devices.ts";
