/** The face of this feature: own access of people, as their devices ask for it. */
export { type AskingDevice, explainToDevice } from "./device-access.ts";
