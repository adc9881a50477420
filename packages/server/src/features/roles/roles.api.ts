/** What other features may ask of roles. */
export { createSystemRoles } from "./roles.built-in.ts";
export { knownRoles } from "./roles.queries.ts";
export { type RoleJson, roleJson, roleView } from "./roles.view.ts";
