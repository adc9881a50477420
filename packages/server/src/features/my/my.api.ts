/** The interface of this feature for devices, which ask about the access of their users. */
export { type AskingDevice, explainToDevice } from "./device-access.ts";
