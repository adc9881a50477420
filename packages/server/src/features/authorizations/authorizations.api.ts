/** Public API of this feature: the authorization server for Gatehouse's own programs. */
export { deviceSessionFrom } from "./device-sign-in.ts";
export { ProgramAuthorizations } from "./program-authorizations.ts";
