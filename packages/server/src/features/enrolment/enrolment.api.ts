/** Public API of this feature: the enrolment of devices. */
export { addDevice } from "./add-device.ts";
export { storeClaimedKeys } from "./device-keys.ts";
