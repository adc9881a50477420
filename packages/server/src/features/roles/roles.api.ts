/** What other features may ask of roles. */
export { createSystemRoles } from "./roles.built-in.ts";
