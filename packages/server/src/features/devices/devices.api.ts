/** What other features may ask of devices. */

export { findPresentedDevice, identitiesOfDevices } from "./device-token.queries.ts";
export { knownDevices } from "./devices.queries.ts";
export {
  type DeviceJson,
  deviceJson,
  deviceView,
  type PolicyDeviceJson,
  policyDeviceJson,
  policyDeviceView,
} from "./devices.view.ts";
export { disownDevices, disownDevicesOfUsers } from "./disown-devices.ts";
