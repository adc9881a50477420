/** The face of this feature: the authorization server for Gatehouse's own programs. */
export { ProgramAuthorizations } from "./program-authorizations.ts";
