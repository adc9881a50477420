/** What other features may ask of roles. */
export { refuseGrantsBeyond, requireAssignable } from "./assignable-roles.ts";
export { createSystemRoles } from "./roles.built-in.ts";
export { readRole, roleIdsByType } from "./roles.queries.ts";
export { holdsEverything } from "./roles.rules.ts";
export { type RoleJson, roleJson, rolesView } from "./roles.view.ts";
